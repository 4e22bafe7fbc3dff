"""Open-loop scans: which tasks and which moments a policy has yet to learn."""
