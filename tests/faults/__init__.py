"""Faults: what is killed, stopped, full, or late, and what is there afterwards. See docs/faults.md.

`points` counts fault points inside a process and strikes at one of them, `scripts` are what a client does, `runner`
forks a process for each run, `harness` asks it to and compares `state`s. Nothing in src/perdure knows of any of this.
"""
