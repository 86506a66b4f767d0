import Glibc

/// The remedies for errors of the operating system.
package enum SystemErrorAdvice {
  /// The remedy for an `errno` value: a clause without its full stop.
  ///
  /// Limits of the process and of the system are not faults of a device, so only device errors lead to the kernel's
  /// log.
  package static func clause(_ errno: Int32) -> String {
    switch errno {
    case EMFILE:
      "raise the process's limit on open files (ulimit -n, or LimitNOFILE of a systemd unit), or close some files"
    case ENFILE: "raise the system's limit on open files (sysctl fs.file-max), or end processes with many open files"
    case ENOMEM: "raise the process's limits (ulimit -v, or the container's memory), or try again later"
    case ENOSPC: "free disk space and try again"
    case EDQUOT: "free disk space within the user's quota, or raise the quota, and try again"
    case EFBIG: "raise the limit on file sizes (ulimit -f, or LimitFSIZE of a systemd unit) and try again"
    case EROFS: "the file system is mounted read-only: remount it, or choose another path"
    case EACCES, EPERM: "check the owner and the mode of the path and of the directories above it"
    case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: "check the path"
    case EBUSY, ETXTBSY, EAGAIN, EINTR: "end the processes that use it, and try again"
    case ENOLCK: "raise the system's limit on file locks, or end processes with many locks, and try again"
    case EINVAL, ENOSYS, EOPNOTSUPP, ENOTTY: "use a local file system that supports the operation (ext4, XFS, btrfs)"
    default: "see the kernel's log for the device"
    }
  }

  /// The same as a sentence.
  static func sentence(_ errno: Int32) -> String {
    let clause = clause(errno)
    return clause.prefix(1).uppercased() + clause.dropFirst() + "."
  }
}
