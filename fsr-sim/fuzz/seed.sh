#!/usr/bin/env bash
# Fills corpus/front_end and corpus/execute with the PTX of this repository: compiled kernels, faulty ones, and one small kernel
# for each instruction form. With the words of PTX as a dictionary (ptx.dict):
#
#     ./seed.sh && cargo +nightly fuzz run front_end -- -dict=ptx.dict -max_len=20000 -timeout=10
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p corpus/front_end corpus/execute

for file in ../tests/kernels/*.ptx ../tests/corpus/*.ptx ../../example-crate/fsr/*/*.ptx; do
    cp "$file" "corpus/front_end/$(sha256sum "$file" | cut -c1-16)"
done

# Kernels of wide.txt: a head, lines for the top of the module after `^`, a body.
python3 - <<'PYTHON'
import hashlib, pathlib
frame = pathlib.Path("../tests/conformance/wide_frame.ptx").read_text()
sections = pathlib.Path("../tests/conformance/wide.txt").read_text().removeprefix("== ").split("\n== ")
for section in sections:
    head, body = section.split("\n", 1)
    lines = body.splitlines()
    top = "\n".join(line[1:] for line in lines if line.startswith("^"))
    rest = "\n".join(line for line in lines if not line.startswith("^"))
    text = frame.replace("{top}", top).replace("{body}", rest)
    (pathlib.Path("corpus/front_end") / hashlib.sha256(text.encode()).hexdigest()[:16]).write_text(text)
scalar = pathlib.Path("../tests/conformance/scalar.txt").read_text().splitlines()
words = set()
for text in pathlib.Path("corpus/front_end").iterdir():
    words.update(w.strip("{}[]();,:|!@+<>") for w in text.read_text().replace("\t", " ").split())
words.update(line.split("|")[0].split(",")[0] for line in scalar)
keep = sorted(w for w in words if 2 <= len(w) <= 60 and w.isascii() and w.isprintable() and '"' not in w and "\\" not in w)
parts = sorted({"." + p for w in keep for p in w.split(".")[1:] if 2 <= len(p) <= 30})
pathlib.Path("ptx.dict").write_text("".join(f'"{w}"\n' for w in (keep + parts)[:6000]))
PYTHON
cp -n corpus/front_end/* corpus/execute/
echo "$(ls corpus/front_end | wc -l) seeds"
