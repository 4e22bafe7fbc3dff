"""What the program says, in English and in Chinese. Imports next to nothing: help is instant."""

from collections.abc import Mapping

LANGUAGES = ("en", "zh")

COMMANDS: Mapping[str, str] = {
    "run": "[RECIPE] [settings]",
    "demos": "[RECIPE] [settings]",
    "train": "[RECIPE] [settings]",
    "eval": "[RECIPE] [settings]",
    "report": "RUN_FOLDER",
    "config show": "[RECIPE] [settings]",
    "scan tasks": "[RECIPE] [settings]",
    "cache stats": "",
    "cache why": "[KEY]",
    "cache verify": "",
    "cache gc": "RUN_FOLDERS...",
    "cache export": "FOLDER",
    "cache import": "FOLDER",
}
"""Every command, and what stands behind its name."""

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

CHINESE: Mapping[str, str] = {
    "usage": "用法: etude",
    "title": "在算力和时间都有限时，训练一个能完成多种任务的机器人策略。",
    "commands": "命令:",
    "options": "选项:",
    "more": "用 `etude 命令 --help` 查看某个命令的用法。",
    "settings": (
        "设置:\n"
        "  配方里的每一项设置都可以写成命令行参数: --steps 3000、--train.lr=1e-4、\n"
        "  --simulator.tasks reach-v3 push-v3。命令行优先于配方。\n"
        "  `etude config show` 列出全部设置的取值和含义。"
    ),
    "exit": (
        "退出码: 0 完成，1 失败，2 用法或设置有误，3 发现问题，\n"
        "  4 数据有问题或缺少工具，5 已完成但未达目标，75 已停止、可继续"
    ),
    "run": "一次完成示范采集、训练、评测和报告",
    "demos": "采集脚本专家的示范",
    "train": "用数据集训练策略",
    "eval": "让策略实际运行若干回合，统计成功率",
    "report": "为运行目录生成报告",
    "config show": "列出全部设置及其来源",
    "scan tasks": "逐个任务，把策略与留出的示范作比较",
    "cache stats": "说明扫描缓存里有什么",
    "cache why": "说明某个结果为何没有命中缓存: 哪一项输入不同",
    "cache verify": "读取整个扫描缓存并核对每个键",
    "cache gc": "删除不属于这些运行的任何检查点的结果",
    "cache export": "把扫描缓存复制到一个目录",
    "cache import": "把导出的目录复制进扫描缓存",
    "RECIPE": "TOML 文件，例如 recipes/mt50-quick.toml；省略时用默认值",
    "RUN_FOLDER": "运行目录，例如 runs/mt50-quick，是否跑完都可以",
    "RUN_FOLDERS": "存放运行的目录，例如 runs；其下各层也算在内",
    "KEY": "已保存结果的键，或其开头部分",
    "FOLDER": "目录，结构与缓存相同",
    "--cache.root": "缓存目录，默认 $XDG_CACHE_HOME/etude 或 ~/.cache/etude",
    "--like": '不给键而以 JSON 给出输入，例如 \'{"weights": "3f2a"}\'',
    "--json": "在标准输出只打印一个 JSON 对象，其余内容写到标准错误",
    "--dry-run": "只说明会做什么，不实际执行",
    "--resume": "继续 output_dir 中已有的运行",
    "--target": "平均成功率低于该值时以 5 退出，例如 0.97",
    "--lang": "en、zh 或 auto（默认，取自 LC_ALL、LC_MESSAGES 或 LANG）",
    "--version": "打印版本号",
    "--help": "打印本帮助",
    "verdict": "判定",
    "verdict_pass": "通过",
    "verdict_fail": "未通过",
    "verdict_undecided": "未定",
    "windows": "窗口",
    "n_of": "{n:,} / {of:,}",
    "gmse": "GMSE",
    "groups_of_task": "各动作组",
    "pass_rate": "窗口通过率",
    "proxy": (
        "GMSE 比较预测动作与示范动作: 0 为完全一致，1 相当于原地不动。\n"
        "它只是成功率的替代指标，成功率要靠实际运行测得（`etude eval`）。"
    ),
    "scanned": "窗口: 询问策略 {asked:,} 个，沿用以往扫描 {known:,} 个",
    "trained_on": "* 没有留出的示范，用训练示范扫描，结果偏好",
    "incomplete": "未完成: 计划做完之前，scan.time_limit_s 或 scan.windows_per_task 的限额已到",
    "task": "任务",
    "group": "分组",
    "solved": "成功",
    "rate": "成功率",
    "interval": "95 % 区间",
    "mean": "{n} 个任务平均成功率: {mean}，95 % 区间 {interval}（{episodes:,} 回合成功 {k:,} 次）",
    "groups": "各组: {groups}",
    "macro": "各组平均: {macro}",
    "worst": "最低的 {count} 个: {worst}（{tasks}）",
    "errors": "未计入: {errors:,} 个回合因仿真器出错中断",
    "report_at": "报告: {path}",
    "took": "用时: {seconds}",
    "below": "未达目标: {mean} 低于 {target}",
    "nothing": "没有完成任何回合",
    "seconds": "{s} 秒",
    "minutes": "{m} 分 {s} 秒",
    "hours": "{h} 小时 {m} 分",
    "started": "{phase} 开始: 共 {total:,} 项",
    "at": "{phase} {done:,}/{total:,}（{share} %），已用 {elapsed}，约剩 {left}",
    "finished": "{phase} 完成: {total:,} 项，用时 {elapsed}",
    "interrupted": "已中断",
    "why_alone": "{root} 中没有可比较的其他结果",
    "why_nearest": "最接近的结果是 {key}，有 {equal} 项输入相同",
    "why_apart": "  {input} 为 {wanted}，那里是 {kept}",
}

CATALOGUES: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "zh": CHINESE}


def preferred_language(environment: Mapping[str, str]) -> str:
    """Return the language that the first set locale variable asks for; English if none does."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if locale := environment.get(variable):
            return "zh" if locale.lower().startswith("zh") else "en"
    return "en"


def overview(language: str) -> str:
    """Return what `etude --help` prints."""
    text = CATALOGUES[language]
    commands = [f"  {name:<12} {text[name]}" for name in COMMANDS]
    options = [f"  {name:<12} {text[name]}" for name in ("--lang", "--version", "--help")]
    head = f"{text['usage']} COMMAND ...\n\n{text['title']}"
    parts = [head, "\n".join([text["commands"], *commands])]
    parts += ["\n".join([text["options"], *options]), text["more"], text["exit"]]
    return "\n\n".join(parts)


def command_help(language: str, command: str, options: tuple[str, ...]) -> str:
    """Return what `etude COMMAND --help` prints."""
    text = CATALOGUES[language]
    takes = COMMANDS[command]
    positional = [word.strip("[].") for word in takes.split()[:1]]
    names = (*positional, *options, "--lang", "--help")
    lines = [f"  {name:<12} {text[name]}" for name in names]
    parts = [
        f"{text['usage']} {' '.join([command, *takes.split()])} [options]\n\n{text[command]}",
        "\n".join([text["options"], *lines]),
    ]
    if "settings" in takes:
        parts.append(text["settings"])
    return "\n\n".join([*parts, text["exit"]])


def duration(language: str, seconds: float) -> str:
    """Return a duration as people say it."""
    text = CATALOGUES[language]
    whole = max(0, round(seconds))
    if whole < 60:
        return text["seconds"].format(s=whole)
    if whole < 3600:
        return text["minutes"].format(m=whole // 60, s=whole % 60)
    return text["hours"].format(h=whole // 3600, m=whole % 3600 // 60)
