#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif
import KVCloneCore
package import KVCloneRecords

/// The description of a named snapshot.
public struct SnapshotInfo: Sendable, Hashable {
  /// The name of the snapshot; see `ObjectStore.createSnapshot(named:expiresAt:userInfo:)`.
  public let name: String
  /// The time of creation.
  public let createdAt: Date
  /// The time after which the snapshot may be deleted; nil if it has no expiry.
  public let expiresAt: Date?
  /// The number of the last commit that the snapshot shows in full or in part.
  public let commit: UInt64
  /// The number of objects that the snapshot shows.
  public let objectCount: Int
  /// The tags of the holds that prevent deletion, sorted.
  public let holds: [String]
  /// The key-value pairs given at creation.
  public let userInfo: [String: String]
  /// Whether the store created the snapshot: before a rollback, or by `ObjectStore.createAutomaticSnapshot(userInfo:)`.
  public let isAutomatic: Bool
  /// The name of the model version for reading the snapshot; nil if that version has no name.
  public let modelVersion: String?

  /// Whether the snapshot is the base of a branch or a draft. It cannot be deleted before these.
  public let isBase: Bool

  /// The snapshot's number among all snapshots that the store ever had: strictly increasing, and never reused.
  package let epoch: UInt64

  package init(_ name: String, _ value: SnapshotValue, modelVersion: String?) {
    self.name = name
    createdAt = Date(timeIntervalSinceReferenceDate: value.created)
    expiresAt = value.expires.map { Date(timeIntervalSinceReferenceDate: $0) }
    commit = value.commit
    objectCount = Int(clamping: value.objectCount)
    holds = value.holds.sorted()
    userInfo = (try? JSONDecoder().decode([String: String].self, from: Data(value.userInfo))) ?? [:]
    isAutomatic = value.isAutomatic
    isBase = value.layerCount > 0 || value.isDraft
    self.modelVersion = modelVersion
    epoch = value.epoch
  }

  /// Returns whether the snapshot is expired at a time. `ObjectStore.deleteExpiredSnapshots()` deletes expired
  /// snapshots without holds.
  public func isExpired(at date: Date = Date()) -> Bool { expiresAt.map { $0 <= date } ?? false }
}

/// Checks the names of snapshots and holds.
enum SnapshotName {
  /// The name of the hidden base of a layer: no other snapshot can have it.
  static func ofBase(layer: UInt32) -> String { "@\(layer)" }

  /// Whether a name is that of a hidden base. Several layers may have the same base.
  static func isOfBase(_ name: String) -> Bool { name.hasPrefix("@") }

  /// The prefix of generated names.
  static let automaticPrefix = "auto-"
  private static let maximumLength = 128

  /// - Throws: `invalidSnapshotName`.
  static func check(_ name: String, isAutomatic: Bool = false) throws(StoreError) {
    try checkForm(name, "the name of a snapshot")
    guard isAutomatic || !name.hasPrefix(automaticPrefix) else {
      throw StoreError(
        .invalidSnapshotName,
        "the prefix \(automaticPrefix) is reserved for automatic snapshots; choose another name")
    }
  }

  /// Checks the tag of a hold in the same way.
  static func checkTag(_ tag: String) throws(StoreError) { try checkForm(tag, "the tag of a hold") }

  static func checkForm(_ name: String, _ what: String) throws(StoreError) {
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
        "\(what) must have 1 to \(maximumLength) characters from A-Z, a-z, 0-9, dot, underscore and hyphen")
    }
  }
}
