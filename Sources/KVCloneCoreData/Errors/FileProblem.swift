import Foundation

/// Texts for file system errors: limits of the process or the system are not a matter of permissions.
enum FileProblem {
  private static let processLimit = "the process has too many files open"
  private static let systemLimit = "the system has too many files open"
  private static let noMemory = "out of memory"

  /// The reason that the file system reports.
  static func reason(_ error: any Error) -> String {
    let outer = error as NSError
    let system =
      outer.domain == NSPOSIXErrorDomain
      ? outer : (outer.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
    guard let system, system.domain == NSPOSIXErrorDomain, let code = POSIXErrorCode(rawValue: Int32(system.code))
    else {
      return outer.localizedDescription
    }
    switch code {
    case .EMFILE: return processLimit
    case .ENFILE: return systemLimit
    case .ENOMEM: return noMemory
    default: return outer.localizedDescription
    }
  }

  /// The remedy for a reason.
  static func advice(_ reason: String) -> String {
    switch reason {
    case processLimit:
      "raise its limit on open files (ulimit -n, or LimitNOFILE of a systemd unit), or close some files"
    case systemLimit:
      "raise the system's limit on open files (sysctl fs.file-max), or end processes with many open files"
    case noMemory: "raise the process's limits (ulimit -v, or the container's memory), or try again later"
    default: "check the path and its permissions"
    }
  }
}
