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
    "--cache.root": "the cache; default $XDG_CACHE_HOME/etude or ~/.cache/etude",
    "--like": 'inputs as JSON instead of a key, e.g. \'{"weights": "3f2a"}\'',
    "--json": "print one JSON object on stdout, everything else on stderr",
    "--dry-run": "say what would happen and do nothing",
    "--resume": "continue the run that lies in output_dir",
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
    "groups_of_task": "by group",
    "pass_rate": "windows passed",
    "proxy": (
        "GMSE compares predicted with recorded actions: 0 is perfect, 1 no better than holding "
        "still.\nIt is a proxy of success; only episodes measure success (`etude eval`)."
    ),
    "scanned": "Windows: {asked:,} asked of the policy, {known:,} known from earlier scans",
    "trained_on": "* has no held-out episode; scanned on training episodes, which flatters it",
    "incomplete": (
        "Not complete: scan.time_limit_s or scan.windows_per_task ended the scan before its plan "
        "was done"
    ),
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
