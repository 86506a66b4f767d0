import Foundation
package import KVCloneCore
import KVCloneLMDB

/// The operating system's error behind a Foundation error, with a remedy.
package struct SystemError {
  /// The `errno` value.
  package let code: Int32

  /// - Parameter error: an error of Foundation; nil if it contains no `errno` value.
  package init?(_ error: any Error) {
    let outer = error as NSError
    let system =
      outer.domain == NSPOSIXErrorDomain
      ? outer : (outer.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
    guard let system, system.domain == NSPOSIXErrorDomain else { return nil }
    code = Int32(truncatingIfNeeded: system.code)
  }

  /// - Parameter code: an `errno` value.
  package init(code: Int32) { self.code = code }

  /// The reason in the words of the operating system.
  package var reason: String { NamedFile.Refusal.system(errno: code).reason }

  /// The remedy, as a clause without a full stop.
  package var advice: String { SystemErrorAdvice.clause(code) }

  /// Returns a store error for the system error.
  ///
  /// - Parameter subject: the failed operation with its file, such as "FILE cannot be written".
  package func storeError(_ subject: String) -> StoreError {
    StoreError(LMDBError.isDiskFull(code) ? .diskFull : .io, "\(subject) (\(reason)); \(advice)")
  }
}
