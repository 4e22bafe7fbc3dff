"""What the program says in Chinese; the keys are those of `texts_english`."""

from collections.abc import Mapping

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
    "scan samples": "找出训练示范中各个时刻对策略的难度",
    "scan compare": "逐个窗口说明两次扫描之间有何变化",
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
    "A": "之前的扫描: 其记录文件，或运行目录（取最新的任务扫描）",
    "B": "之后的扫描",
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
    "proxy": (
        "GMSE 比较预测动作与示范动作: 0 为完全一致，1 相当于原地不动。\n"
        "它只是成功率的替代指标，成功率要靠实际运行测得（`etude eval`）。"
    ),
    "scanned": "窗口: 询问策略 {asked:,} 个，沿用以往扫描 {known:,} 个",
    "trained_on": "* 没有留出的示范，用训练示范扫描，结果偏好",
    "incomplete": (
        "未完成: 计划做完之前，scan.time_limit_s 或 scan.windows_per_task 的限额已到，\n"
        "或策略没有应答"
    ),
    "n": "n",
    "passed": "通过",
    "interval_short": "95 %",
    "scored": (
        "n: 已评分的窗口，共 {n:,} / {of:,} 个。通过: 各动作组误差都不超过原地不动的\n"
        "scan.tau 倍的窗口所占比例，附 95 % 区间。"
    ),
    "record_at": "记录: {path}",
    "before": "之前",
    "after": "之后",
    "ratio": "比值",
    "verdict_better": "变好",
    "verdict_worse": "变差",
    "verdict_unresolved": "未能分辨",
    "compared": "{n} 个任务的平均比值: {ratio}，95 % 区间 {interval}",
    "verdicts": "任务: 变好 {better} 个，未能分辨 {unresolved} 个，变差 {worse} 个",
    "paired": (
        "窗口: 两次扫描都有的 {pairs:,} 个（n），只在前者的 {only_a:,} 个，只在后者的 {only_b:,} 个"
    ),
    "passed_change": "其中通过的: 之前 {before:,} 个，之后 {after:,} 个",
    "comparison_proxy": (
        "之前、之后: 两次扫描共有窗口的 GMSE 几何平均，比值小于 1 为变好。\n"
        "GMSE 只是成功率的替代指标，成功率要靠实际运行测得（`etude eval`）。"
    ),
    "corrected": (
        "区间只针对单个任务。判定对全部任务同时成立（Holm 校正，5 %），\n"
        "因为任务多了，总有一些会偶然不同。"
    ),
    "scan_a": "之前: 第 {step:,} 步，{path}",
    "scan_b": "之后: 第 {step:,} 步，{path}",
    "in_part": "（未完成）",
    "difficulty": "难度",
    "hardest": "最难的层",
    "weight": "权重",
    "suspects": "可疑",
    "difficulty_proxy": (
        "难度是 GMSE 的均值: 0 为完全一致，1 相当于原地不动。\n"
        "它只是尚待学习之处的替代指标。权重是最难一层的窗口的抽取频率，1 为均匀抽取。"
    ),
    "strata_estimated": "各层的大小由部分示范估计得出，权重随之为估计值",
    "samples_incomplete": "未完成: scan.time_limit_s 已到，或策略没有应答，扫描提前结束",
    "suspect_list": "可疑窗口（所属任务在进步，其误差却一直很大）:",
    "suspects_more": "另有 {count:,} 个，--json 列出全部",
    "episode": "示范",
    "frame": "帧",
    "stratum": "层",
    "visits": "次数",
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
