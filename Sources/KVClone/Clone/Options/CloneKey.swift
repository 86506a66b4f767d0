#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVCloneCore
import KVCloneModel

/// An idempotency key, with the arguments of the first call that used it (R31).
package struct CloneKey {
  package static let maximumLength = 255

  let bytes: [UInt8]
  /// SHA-256 of the arguments in canonical form.
  let digest: [UInt8]
  let expires: Date?

  /// Nil if the call has no key.
  ///
  /// - Parameters:
  ///   - sourceStore: the source of a clone into another store, where the key is kept.
  ///   - epoch: identifies the snapshot of a clone from one: epochs are never reused, unlike names.
  ///   - branch: the number of the branch that the clones are made on; nil for a store. Both have the same keys.
  /// - Throws: `invalidConfiguration`.
  init?(
    _ roots: [ObjectID], _ options: CloneOptions, sourceStore: UUID? = nil, epoch: UInt64? = nil, branch: UInt32?
  ) throws(CloneError) {
    guard let key = options.idempotencyKey else { return nil }
    if let error = options.keyError { throw error }
    bytes = Array(key.utf8)
    expires = options.idempotencyExpiresAt
    digest = options.digest(roots, sourceStore: sourceStore, epoch: epoch, branch: branch)
  }
}
