#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel

/// An idempotency key, and what it stands for: the arguments of the first call that had it (R31).
struct CloneKey {
  static let maximumLength = 255

  let bytes: [UInt8]
  /// SHA-256 of the arguments in one form.
  let digest: [UInt8]
  let expires: Date?

  /// Nil where the call has no key.
  ///
  /// - Parameters:
  ///   - sourceStore: of a clone into another store, which is where the key is kept.
  ///   - epoch: of a clone from a snapshot: which one. No two of a store ever have the same, and names come again.
  /// - Throws: `invalidConfiguration`.
  init?(_ roots: [ObjectID], _ options: CloneOptions, sourceStore: UUID? = nil, epoch: UInt64? = nil)
    throws(CloneError)
  {
    guard let key = options.idempotencyKey else { return nil }
    if let error = options.keyError { throw error }
    bytes = Array(key.utf8)
    expires = options.idempotencyExpiresAt
    digest = options.digest(roots, sourceStore: sourceStore, epoch: epoch)
  }
}
