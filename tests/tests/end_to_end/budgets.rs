//! What a search may spend, and what becomes of one whose budget ends.

use crate::support::{ANSWERS, Project};

#[test]
fn a_budget_ends_a_search_early_and_resuming_goes_on_counting() {
    let project = Project::new("budget");
    project.answers(ANSWERS);
    project
        .fsr("tune --max-requests 3")
        .on_cpu_device()
        .succeeds()
        .says("67 % of the budget of 3 requests are spent")
        .says("saxpy: the budget of 3 requests is spent, so the search ended early; with a larger one --resume goes on")
        .says("Spent 3 requests, about ")
        .says("no price known");
    project.fsr("check").succeeds();
    assert_eq!(project.asked().len(), 3);

    // What was spent stays spent.
    let again =
        project.fsr("tune --resume --max-requests 3 --message-format json").on_cpu_device().succeeds();
    let spent = again.json().into_iter().find(|message| message["reason"] == "spent").expect("totals");
    assert_eq!((&spent["totals"]["requests"], project.asked().len()), (&3.into(), 3));
    project.fsr("tune --resume --max-requests 4").on_cpu_device().succeeds().says("Spent 4 requests");
    assert_eq!(project.asked().len(), 4);
}

#[test]
fn budgets_that_cannot_be_kept_are_told_before_anything_is_spent() {
    let project = Project::tuned("budget-faults");
    let error = |words: &str, code| project.fsr(words).fails_with(code).error();
    insta::assert_snapshot!(error("tune --force --max-cost 1", 3), @"error: the cost is limited, and model `a script` has no price help: write `price = { input = 3.0, output = 15.0 }`, for a million tokens, to its table in fsr.toml");
    project.fsr("tune --force --max-time soon").fails_with(2).says("--max-time");
    project.fsr("tune --force --max-cost -1").fails_with(2);
    let config = project.read("fsr.toml");
    project.write("fsr.toml", format!("{config}\n[budget]\ntime = \"soon\"\n"));
    insta::assert_snapshot!(error("tune --force", 3), @"error: [project]/fsr.toml: `soon` is no time such as `90m`: expected number at 0");
    project.write("fsr.toml", format!("{config}\n[budget]\nmoney = 3\n"));
    insta::assert_snapshot!(error("tune --force", 3), @"error: [project]/fsr.toml: unknown field `money`, expected one of `requests`, `tokens`, `cost`, `time`");

    // Totals would not know what either of them costs.
    let twin = "kind = \"command\"\ncommand = \"true\"\nname = \"a script\"\nprice = { input = 1.0, output = 2.0 }\n";
    let pair = "[models.pair]\nkind = \"team\"\nmembers = [\"scripted\", \"twin\"]\n";
    project.write("fsr.toml", format!("{config}\n[models.twin]\n{twin}\n{pair}"));
    insta::assert_snapshot!(error("tune --force --model pair", 3), @r#"error: two models are called `a script`, and their prices differ help: write `name = "..."` to the table of one of them in fsr.toml"#);
    assert!(project.asked().is_empty());
}

#[test]
fn a_dry_run_shows_the_first_round_and_the_bound_and_asks_nobody() {
    let project = Project::new("dry-run");
    let shown = project.fsr("tune --dry-run").on_cpu_device().succeeds();
    shown
        .says("2 prompts in round 1, about ")
        .says("At most 4 requests, about ")
        .says("not known: model `a script` has no price")
        .says_nothing_of("Stored");
    assert!(shown.stdout.starts_with("----- saxpy r1 c1, for a script\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("\n----- saxpy r1 c2, for a script\n"));
    assert!(shown.stdout.contains("y[i] = a * x[i] + y[i] for i < n, in f32."));
    let told = project.fsr("tune --dry-run --message-format json").on_cpu_device().succeeds().json();
    let prompts = told.iter().filter(|message| message["reason"] == "prompt");
    assert_eq!(prompts.map(|prompt| &prompt["candidate"]).collect::<Vec<_>>(), ["r1-c1", "r1-c2"]);
    assert!(project.asked().is_empty() && project.stored().0.is_empty() && project.journals().is_empty());

    // What is asked afterwards is what was shown.
    project.answers(ANSWERS);
    project.fsr("tune --rounds 1").on_cpu_device().succeeds();
    for prompt in project.asked() {
        assert!(shown.stdout.contains(prompt.trim_end()), "another prompt:\n{prompt}");
    }

    // So it is where something is stored, which prompts may begin with.
    let before = project.asked().len();
    let shown = project.fsr("tune --force --dry-run").on_cpu_device().succeeds();
    project.fsr("tune --force --rounds 1").on_cpu_device().succeeds();
    let asked = project.asked();
    assert_eq!(asked.len(), before + 2);
    for prompt in &asked[before..] {
        assert!(shown.stdout.contains(prompt.trim_end()), "another prompt:\n{prompt}");
    }
}

#[test]
fn a_target_that_is_reached_ends_a_search_and_a_higher_one_goes_on() {
    let project = Project::new("target");
    project.answers(ANSWERS);
    project
        .fsr("tune --strategy beam --target 1.01x")
        .on_cpu_device()
        .succeeds()
        .says("Reached saxpy: the target of 1.01x");
    assert_eq!(project.asked().len(), 2, "the second round is not needed");
    project.fsr("tune --resume").on_cpu_device().succeeds().says_nothing_of("Round");
    project.fsr("tune --resume --target 1000x").on_cpu_device().succeeds().says_nothing_of("Reached");
    assert_eq!(project.asked().len(), 4);

    project
        .fsr("tune --resume --target 2000x --strategy islands")
        .on_cpu_device()
        .fails_with(3)
        .says("candidates, strategy, seed and");
    project
        .fsr("tune --force --strategy islands:3")
        .on_cpu_device()
        .fails_with(2)
        .says("the strategy islands:3 needs at least 3 candidates a round");
}
