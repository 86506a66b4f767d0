#if Postgres
  public import Foundation
  import KVCloneCore

  /// Identifies a commit of a store in a cluster, so that reads of other processes can require it.
  ///
  /// Its ``description`` is a text of letters, digits and hyphens, at most 90 bytes, for instance for a header or a
  /// cookie. It contains no data of the store.
  ///
  /// ```swift
  /// try store.write { tx in try tx.insert("Note", ["title": "Groceries"]) }
  /// let text = try PostgresCluster.lastCommit(of: store).description
  /// ```
  public struct CommitPosition: Sendable, Hashable, Codable, LosslessStringConvertible {
    private static let prefix = "kv1"

    /// The UUID of the store.
    public let store: UUID
    /// The number of the commit, as `PostgresCluster.StoreInfo.commitNumber`.
    public let number: Int64
    /// A random number that distinguishes commits with the same number, of which a failover has lost one.
    let token: [UInt8]

    init(store: UUID, _ commit: SharedCache.Commit) {
      self.store = store
      number = commit.number
      token = commit.token
    }

    /// Reads a position from its ``description``.
    ///
    /// - Parameter text: the text. The result is nil if it is not that of a position.
    public init?(_ text: String) {
      guard text.utf8.count <= 100 else { return nil }
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 4, parts[0] == Self.prefix, let number = Int64(parts[1]), number >= 0,
        let token = Self.bytes(parts[2]), token.count == 16, let store = Self.bytes(parts[3]), store.count == 16
      else { return nil }
      self.store = store.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      self.number = number
      self.token = token
    }

    /// Reads a position from a text value.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      guard let position = CommitPosition(try container.decode(String.self)) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "not the position of a commit")
      }
      self = position
    }

    /// Writes the position as a text value.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(description)
    }

    /// The position as a text.
    public var description: String {
      let store = withUnsafeBytes(of: store.uuid) { Array($0) }
      return "\(Self.prefix)-\(number)-\(Self.text(token))-\(Self.text(store))"
    }

    var commit: SharedCache.Commit { SharedCache.Commit(number: number, token: token) }

    private static func text(_ bytes: [UInt8]) -> String {
      bytes.map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
    }

    private static func bytes(_ text: Substring) -> [UInt8]? {
      let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue ?? -1 }
      guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 >= 0 }) else { return nil }
      return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
  }
#endif
