"""Count the cases that every backend in these JSON reports passes; fail if one that ran did not."""

import json
import sys
from pathlib import Path

reports = [
    report for file in sys.argv[1:] for report in json.loads(Path(file).read_text())["reports"]
]
passed, failed = [], []
for report in reports:
    ran = {result["case"]: result["verdict"] for result in report["results"]}
    passed.append({case for case, verdict in ran.items() if verdict == "pass"})
    failed += [f"{report['backend']}: {case}: {v}" for case, v in ran.items() if v != "pass"]
names = ", ".join(report["backend"] for report in reports)
print("\n".join(failed[:20]))
print(f"cases on which all agree with what is expected ({names}): {len(set.intersection(*passed))}")
sys.exit(bool(failed) or len(reports) < 2)
