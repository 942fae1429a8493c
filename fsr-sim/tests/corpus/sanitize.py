#!/usr/bin/env python3
"""The corpus under compute-sanitizer, on a GPU: `python3 sanitize.py LOGS > sanitizer.csv`.

Runs each kernel that sanitizer.csv lacks under each tool, several at once, and leaves what they printed in the folder
LOGS; what lies there already is not run again. Prints, for each kernel, what each tool found, now or before.
"""
import csv
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
# The first that is there: what names a fault most closely comes first.
FOUND = [
    (r"Access to \S+ is misaligned", "misaligned"),
    (r"Access to \S+ is out of bounds|is \d+ bytes (after|before) the nearest", "out of bounds"),
    (r"Warp assert", "assertion failed"),
    (r"Trace/breakpoint trap", "trap"),
    (r"Stack overflow", "stack overflow"),
    (r"Error: Race reported|Error: Potential .* hazard", "race"),
    (r"Warning: Race reported|Warning: Potential .* hazard", "race (warning)"),
    (r"Uninitialized .* memory read", "uninitialised read"),
    (r"Divergent thread", "divergent barrier"),
    (r"Barrier error detected. Invalid arguments", "invalid barrier arguments"),
    (r"Missing wait", "missing wait"),
    (r"Invalid __\w+__", "invalid access"),
    (r"rc=124", "time-out"),
    (r"Program hit|errors were not printed|ERROR SUMMARY: [1-9]", "other error"),
]


def run(logs, name, tool):
    log = logs / f"{name}.{tool}"
    if not log.exists():
        command = ["timeout", "40", "compute-sanitizer", "--tool", tool, "--print-limit", "3"]
        ran = subprocess.run([*command, sys.executable, HERE / "judge.py", name], capture_output=True, text=True)
        log.write_text(f"{ran.stdout}{ran.stderr}rc={ran.returncode}\n")
    text = log.read_text()
    if "COMPUTE-SANITIZER" not in text:
        raise SystemExit(f"{log}: the tool did not run: {text[:200]}")
    return next((word for pattern, word in FOUND if re.search(pattern, text)), "clean")


logs = pathlib.Path(sys.argv[1])
logs.mkdir(parents=True, exist_ok=True)
names = subprocess.run([sys.executable, HERE / "judge.py"], capture_output=True, text=True, check=True).stdout.split()
rows = {row[0]: row[1:] for row in csv.reader((HERE / "sanitizer.csv").read_text().splitlines())}
missing = [name for name in names if name not in rows]
with ThreadPoolExecutor(12) as pool:
    rows |= zip(missing, pool.map(lambda name: [run(logs, name, tool) for tool in TOOLS], missing))
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["kernel", *TOOLS])
out.writerows([name, *rows[name]] for name in names)
