"""How the embedded server is set up, and the files that tell it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from perdure.store.embedded_os import WINDOWS, Account, hand_over

_MIB: Final = 1024 * 1024

HOST_BASED_AUTHENTICATION: Final = {
    False: "local all all scram-sha-256\n",
    True: "host all all 127.0.0.1/32 scram-sha-256\n",
}


def settings(memory_bytes: int) -> dict[str, str]:
    """The server's settings on a host with that much memory (bytes).

    Logs hold what the server itself has to say, never a statement or its data: errors go to the client that caused
    them. `minimal` WAL, because nothing replicates from an embedded server, spares index builds the log.
    """
    shared = _between(memory_bytes // 8, 64 * _MIB, 512 * _MIB)
    maintenance = _between(memory_bytes // 16, 64 * _MIB, 1024 * _MIB)
    chosen = {
        "max_connections": "100",
        "shared_buffers": _mib(shared),
        "effective_cache_size": _mib(max(shared, memory_bytes // 2)),
        "maintenance_work_mem": _mib(maintenance),
        "autovacuum_work_mem": "64MB",
        "work_mem": "16MB",
        "huge_pages": "off",
        "jit": "off",
        "random_page_cost": "1.1",
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "wal_level": "minimal",
        "max_wal_senders": "0",
        "max_wal_size": "1GB",
        "autovacuum": "on",
        "password_encryption": "scram-sha-256",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "on",
        "log_directory": "log",
        "log_filename": "server-%Y%m%d-%H%M%S.log",
        "log_file_mode": "0600",
        "log_rotation_age": "0",
        "log_rotation_size": "10MB",
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_statement": "none",
        "log_min_duration_statement": "-1",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_autovacuum_min_duration": "-1",
        "log_checkpoints": "off",
        "log_connections": "",
        "log_line_prefix": "%m [%p] ",
    }
    if sys.platform == "linux":
        # Containers often have 64 MB of /dev/shm, too little for a parallel index build; System V segments aren't
        # bounded by it. syncfs makes recovery independent of the number of files.
        chosen |= {
            "dynamic_shared_memory_type": "sysv",
            "recovery_init_sync_method": "syncfs",
            "client_connection_check_interval": "2s",
        }
    return chosen


def configure(cluster: Path, account: Account | None, socket_dir: Path, port: int) -> None:
    """Writes our configuration files anew, so that they follow Perdure's version and the host's memory."""
    chosen = settings(psutil.virtual_memory().total) | {"port": str(port)}
    if WINDOWS:
        chosen |= {"listen_addresses": "127.0.0.1"}
    else:
        chosen |= {
            "listen_addresses": "",
            "unix_socket_directories": str(socket_dir),
            "unix_socket_permissions": "0700",
        }
    _write(cluster, account, "postgresql.conf", _configuration(chosen))
    _write(cluster, account, "pg_hba.conf", HOST_BASED_AUTHENTICATION[WINDOWS])
    _write(cluster, account, "pg_ident.conf", "")


def _write(cluster: Path, account: Account | None, name: str, content: str) -> None:
    partial = cluster / f"{name}.new"
    partial.write_text(content, "utf-8")
    partial.chmod(0o600)
    hand_over(partial, account)
    partial.replace(cluster / name)


def _configuration(chosen: Mapping[str, str]) -> str:
    lines = ["# Written by Perdure at every start. Your own settings belong into postgresql.auto.conf (ALTER SYSTEM)."]
    lines += [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in chosen.items()]
    return "\n".join(lines) + "\n"


def _between(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _mib(value: int) -> str:
    return f"{value // _MIB}MB"
