#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneRecords

/// What a store knows of a named snapshot.
public struct SnapshotInfo: Sendable, Hashable {
  /// Its name, see `ObjectStore.createSnapshot(named:expiresAt:userInfo:)`.
  public let name: String
  /// When it was made.
  public let createdAt: Date
  /// When it may go; nil: it stays until it is deleted.
  public let expiresAt: Date?
  /// The last commit of which it shows anything.
  public let commit: UInt64
  /// How many objects it shows.
  public let objectCount: Int
  /// Who forbids its deletion, sorted.
  public let holds: [String]
  /// What whoever made it said of it.
  public let userInfo: [String: String]
  /// Made by the store itself: before a rollback, or by `ObjectStore.createAutomaticSnapshot(userInfo:)`.
  public let isAutomatic: Bool
  /// The name of the model version by which it is read, where that has one.
  public let modelVersion: String?

  /// Its place among all snapshots that the store ever had: each has a greater one than those before, and none has one twice.
  let epoch: UInt64

  init(_ name: String, _ value: SnapshotValue, modelVersion: String?) {
    self.name = name
    createdAt = Date(timeIntervalSinceReferenceDate: value.created)
    expiresAt = value.expires.map { Date(timeIntervalSinceReferenceDate: $0) }
    commit = value.commit
    objectCount = Int(clamping: value.objectCount)
    holds = value.holds.sorted()
    userInfo = (try? JSONDecoder().decode([String: String].self, from: Data(value.userInfo))) ?? [:]
    isAutomatic = value.isAutomatic
    self.modelVersion = modelVersion
    epoch = value.epoch
  }

  /// Whether its time is over, so that `ObjectStore.deleteExpiredSnapshots()` deletes it, unless somebody holds it.
  public func isExpired(at date: Date = Date()) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

/// The names that snapshots and holds may have.
enum SnapshotName {
  /// The names that the store gives.
  static let automaticPrefix = "auto-"
  private static let maximumLength = 128

  /// - Throws: `invalidSnapshotName`.
  static func check(_ name: String, isAutomatic: Bool = false) throws(StoreError) {
    try checkForm(name, "a snapshot's name")
    guard isAutomatic || !name.hasPrefix(automaticPrefix) else {
      throw StoreError(
        .invalidSnapshotName,
        "names that begin with \(automaticPrefix) are those of snapshots that the store makes itself; "
          + "choose another one")
    }
  }

  /// The same for the name of who holds a snapshot.
  static func checkTag(_ tag: String) throws(StoreError) { try checkForm(tag, "the tag of a hold") }

  private static func checkForm(_ name: String, _ what: String) throws(StoreError) {
    let isGood =
      !name.isEmpty && name.utf8.count <= maximumLength
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
    guard isGood else {
      throw StoreError(
        .invalidSnapshotName,
        "\(what) has 1 to \(maximumLength) characters out of A-Z, a-z, 0-9, point, underscore and hyphen")
    }
  }
}
