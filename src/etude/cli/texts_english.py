"""What the program says in English; the keys are those of `texts_chinese`."""

from collections.abc import Mapping

ENGLISH: Mapping[str, str] = {
    "usage": "usage: etude",
    "title": "Train one robot policy on many tasks when compute and time are short.",
    "commands": "commands:",
    "options": "options:",
    "more": "`etude COMMAND --help` says what a command takes.",
    "settings": (
        "settings:\n"
        "  Every setting of a recipe is a flag too: --steps 3000, --train.lr=1e-4,\n"
        "  --simulator.tasks reach-v3 push-v3. Flags win over the recipe.\n"
        "  `etude config show` prints every setting, its value and its meaning."
    ),
    "exit": (
        "exit codes: 0 done, 1 failed, 2 usage or settings, 3 something was found,\n"
        "  4 data or a missing tool, 5 finished below the target,\n"
        "  75 stopped but resumable"
    ),
    "run": "demonstrations, training, evaluation and report, in one go",
    "demos": "record demonstrations of the scripted experts",
    "train": "train a policy on a dataset",
    "eval": "play episodes with a policy and measure its success",
    "report": "write the report of a run folder",
    "config show": "print every setting and where its value comes from",
    "scan tasks": "compare a policy with held-out demonstrations, task by task",
    "scan samples": "find how difficult each moment of the training episodes is",
    "scan compare": "say what has changed from one scan to another, window by window",
    "tasks show": "say where every task of a run stands, and why",
    "tasks export": "copy the task states of a run to a file that can be edited",
    "tasks diff": "say how the task states of two places differ",
    "tasks reset": "make a task of a document as if it had never been looked at",
    "tasks mark": "put a task of a document into another state",
    "cache stats": "say what the scan cache holds",
    "cache why": "say why a result was not recalled: which input differs",
    "cache verify": "read the whole scan cache and check every key",
    "cache gc": "remove results of weights that no checkpoint of these runs has",
    "cache export": "copy the scan cache into a folder",
    "cache import": "copy an exported folder into the scan cache",
    "RECIPE": "a TOML file, e.g. recipes/mt50-quick.toml; defaults without it",
    "RUN_FOLDER": "a folder such as runs/mt50-quick, finished or not",
    "RUN_FOLDERS": "folders of runs, e.g. runs; those below count too",
    "KEY": "the key of a kept result, or its beginning",
    "FOLDER": "a folder, laid out like the cache itself",
    "A": "the scan before: its record, or a run for its newest task scan",
    "B": "the scan after",
    "RUN": "a run, a checkpoint or a document; `show` alone: the newest run",
    "FILE": "where to; a file that is there already is not replaced",
    "OLD": "a run, a checkpoint, or a task state document",
    "NEW": "another one",
    "TASK": "the id or the name of a task",
    "STATE": "untried, training, passed or exhausted",
    "--task": "all about one task, by its id or name",
    "--document": "the file to change; `etude tasks export` writes one",
    "--cache.root": "the cache; default $XDG_CACHE_HOME/etude or ~/.cache/etude",
    "--like": 'inputs as JSON instead of a key, e.g. \'{"weights": "3f2a"}\'',
    "--json": "print one JSON object on stdout, everything else on stderr",
    "--dry-run": "say what would happen and do nothing",
    "--resume": "continue the run that lies in output_dir",
    "--task-state": "auto (beside the weights), none, or a task state document",
    "--accept-weights-mismatch": "take a document of other weights; every task is looked at first",
    "--accept-data-change": "go on although tasks or episodes have changed",
    "--target": "exit with 5 if the mean success stays below this rate, e.g. 0.97",
    "--lang": "en, zh or auto (the default: from LC_ALL, LC_MESSAGES or LANG)",
    "--version": "print the version",
    "--help": "print this",
    "verdict": "verdict",
    "verdict_pass": "pass",
    "verdict_fail": "fail",
    "verdict_undecided": "undecided",
    "windows": "windows",
    "n_of": "{n:,} of {of:,}",
    "gmse": "GMSE",
    "proxy": (
        "GMSE compares predicted with recorded actions: 0 is perfect, 1 no better than\n"
        "holding still. It is a proxy of success; only episodes measure success\n"
        "(`etude eval`)."
    ),
    "scanned": "Windows: {asked:,} asked of the policy, {known:,} known from earlier scans",
    "trained_on": "* has no held-out episode; scanned on training episodes, which flatters it",
    "incomplete": (
        "Not complete: scan.time_limit_s, scan.windows_per_task, or a policy that did not\n"
        "answer ended the scan before its plan was done"
    ),
    "n": "n",
    "passed": "passed",
    "interval_short": "95 %",
    "scored": (
        "n: windows scored, {n:,} of {of:,}. passed: the share in which no group errs\n"
        "by more than scan.tau of holding still, with its 95 % interval."
    ),
    "record_at": "Record: {path}",
    "before": "before",
    "after": "after",
    "ratio": "ratio",
    "verdict_better": "better",
    "verdict_worse": "worse",
    "verdict_unresolved": "unresolved",
    "compared": "Mean ratio of {n} tasks: {ratio}, 95 % interval {interval}",
    "verdicts": "Tasks: {better} better, {unresolved} unresolved, {worse} worse",
    "paired": (
        "Windows: {pairs:,} in both scans (n), {only_a:,} only in the first, "
        "{only_b:,} in the second"
    ),
    "passed_change": "Passed, of those in both: {before:,} before, {after:,} after",
    "comparison_proxy": (
        "before, after: geometric mean of GMSE over the windows of both scans; a ratio\n"
        "under 1 is better. GMSE is a proxy of success; only episodes measure success\n"
        "(`etude eval`)."
    ),
    "corrected": (
        "Intervals are those of each task by itself. Verdicts hold for all tasks at once\n"
        "(Holm's correction, 5 %), since of many tasks some would differ by chance."
    ),
    "scan_a": "Before: step {step:,}, {path}",
    "scan_b": "After: step {step:,}, {path}",
    "in_part": "(not complete)",
    "difficulty": "difficulty",
    "hardest": "hardest",
    "weight": "weight",
    "suspects": "suspects",
    "difficulty_proxy": (
        "Difficulty is the mean GMSE: 0 is perfect, 1 no better than holding still.\n"
        "It is a proxy of what is left to learn. Weight is how often to draw the windows\n"
        "of the hardest stratum, 1 being uniform."
    ),
    "strata_estimated": (
        "Sizes of strata are estimated from a part of the episodes, and weights with them"
    ),
    "samples_incomplete": (
        "Not complete: scan.time_limit_s, or a policy that did not answer, ended the scan"
    ),
    "moment_list": "Hardest moments, smoothed over windows nearby (--json has three a task):",
    "suspect_list": "Suspect windows, whose error stays large while their task improves:",
    "suspects_more": "and {count:,} more; --json lists all",
    "status": "status",
    "since": "since",
    "trials": "trials",
    "share": "share",
    "reason": "why",
    "status_untried": "untried",
    "status_training": "training",
    "status_passed": "passed",
    "status_exhausted": "exhausted",
    "by_proxy": "{status} (proxy)",
    "no_score": "no score, {k} failures",
    "failed": "No score: {tasks}",
    "failed_task": "{name} ({k} failures)",
    "failed_more": "and {count} more",
    "no_looks": "It was never looked at",
    "statuses": "Tasks: {n} ({counts})",
    "looks_proxy": "~ by windows, a proxy of success; only episodes measure it",
    "looks_stale": "* of other weights; it decides nothing, and the task is looked at again first",
    "one_task": "All about one task: --task NAME",
    "states_of": "Step {step:,}, weights {weights}",
    "document_at": "Document: {path}",
    "no_changes": "The two say the same about every task",
    "only_before": "only before ({status})",
    "only_after": "only after ({status})",
    "changes_more": "--json tells every entry that differs",
    "episode": "episode",
    "frame": "frame",
    "stratum": "stratum",
    "visits": "visits",
    "task": "task",
    "group": "group",
    "solved": "solved",
    "rate": "rate",
    "interval": "95 % interval",
    "mean": "Mean of {n} tasks: {mean}, 95 % interval {interval} ({k:,} of {episodes:,} episodes)",
    "groups": "Groups: {groups}",
    "macro": "Mean of the groups: {macro}",
    "worst": "Lowest {count}: {worst} ({tasks})",
    "errors": "Not counted: {errors:,} episodes in which the simulator broke",
    "report_at": "Report: {path}",
    "took": "Time: {seconds}",
    "below": "Below the target: {mean} is under {target}",
    "nothing": "no episode was finished",
    "seconds": "{s} s",
    "minutes": "{m} min {s} s",
    "hours": "{h} h {m} min",
    "started": "{phase} started: {total:,} to do",
    "at": "{phase} {done:,}/{total:,} ({share} %), {elapsed} gone, about {left} left",
    "finished": "{phase} finished: {total:,} in {elapsed}",
    "interrupted": "interrupted",
    "why_alone": "{root} holds no other result to compare with",
    "why_nearest": "The nearest result is {key}, with {equal} equal inputs",
    "why_apart": "  {input} is {wanted}, there {kept}",
}
