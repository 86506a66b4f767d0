#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
import KVClone
import KVCloneCore
import KVCloneModel
import KVCloneRecords

/// The idempotency key of a merge, with the arguments of the first call that used it (M11).
struct MergeKey {
  private let bytes: [UInt8]
  private let arguments: Arguments
  private let expires: Date?

  /// Nil if the call has no key.
  ///
  /// - Parameters:
  ///   - subject: what is merged.
  ///   - branch: the number of the branch; nil if it is deleted, and if no branch is merged.
  init?(_ subject: [String], branch: UInt32?, _ options: MergeOptions) throws {
    guard let key = options.idempotencyKey else { return nil }
    guard (1...CloneKey.maximumLength).contains(key.utf8.count) else {
      throw CloneError(.invalidConfiguration, "an idempotency key has 1 to \(CloneKey.maximumLength) bytes")
    }
    bytes = Array(key.utf8)
    expires = options.idempotencyExpiresAt
    arguments = Arguments(
      subject: subject, branch: branch, policy: options.policy, rules: options.rules, answers: options.answers,
      userInfoKeys: options.userInfoKeys, maxObjects: options.maxObjects, maxBytes: options.maxBytes,
      createsSnapshots: options.createsSnapshots, keepsClones: options.keepsClones)
  }

  private struct Arguments: Encodable {
    let operation = "merge 1"
    let subject: [String]
    var branch: UInt32?
    let policy: MergeSide?
    let rules: [String: MergeRule]
    let answers: [AnsweredConflict]
    let userInfoKeys: CloneUserInfoKeys
    let maxObjects: Int?
    let maxBytes: UInt64?
    let createsSnapshots: Bool
    let keepsClones: Bool

    func digest() throws -> [UInt8] {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
      return SHA256.hash(Array(try encoder.encode(self))).bytes
    }
  }

  /// The result of the first call with this key; nil if the key is unknown or expired.
  ///
  /// - Throws: ``MergeError`` of the kind `idempotencyKeyReused` if that call had other arguments.
  func result(in session: borrowing Session) throws -> MergeResult? {
    guard let operation = try CloneKey.operation(bytes, in: session), !operation.isExpired(at: Date()) else {
      return nil
    }
    let stored = StoredMerge.decode(operation)
    var arguments = arguments
    // The first call is known even if its branch was deleted since.
    arguments.branch = arguments.branch ?? stored?.branch
    guard let stored, operation.argumentDigest == (try arguments.digest()) else {
      throw MergeError(
        .idempotencyKeyReused,
        "the idempotency key belongs to a call with other arguments in commit \(operation.commit) (R31); repeat the "
          + "call with the same arguments, use another key, or purge this one")
    }
    var counts: [String: MergeCount] = [:]
    for (entity, numbers) in stored.counts where numbers.count == 3 {
      counts[entity] = MergeCount(inserted: numbers[0], updated: numbers[1], deleted: numbers[2])
    }
    return MergeResult(
      counts: counts, resolved: [], snapshots: stored.snapshots, duration: .seconds(stored.seconds), isRepeated: true)
  }

  /// Stores the result of a call with this key, in the transaction of the call.
  func store(_ result: MergeResult, in session: inout Session) throws {
    let parts = result.duration.components
    let stored = StoredMerge(
      counts: result.counts.mapValues { [$0.inserted, $0.updated, $0.deleted] }, snapshots: result.snapshots,
      seconds: Double(parts.seconds) + Double(parts.attoseconds) / 1e18, branch: arguments.branch)
    try CloneKey.store(
      OperationValue(
        commit: session.commit, time: Date().timeIntervalSinceReferenceDate,
        expires: expires?.timeIntervalSinceReferenceDate, roots: [], argumentDigest: try arguments.digest(),
        result: try stored.encoded()), bytes, in: &session)
  }
}
