/// The number of a table: it seeds the checksums of the table's values and is part of preimage keys, so it never
/// changes.
@usableFromInline
package struct TableCode: RawRepresentable, Hashable, Sendable {
  @usableFromInline package let rawValue: UInt16

  @inlinable
  package init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  @inlinable package static var metadata: Self { Self(rawValue: 1) }
  @inlinable package static var links: Self { Self(rawValue: 2) }
  @inlinable package static var blobs: Self { Self(rawValue: 3) }
  @inlinable package static var blobInfo: Self { Self(rawValue: 4) }
  @inlinable package static var indexes: Self { Self(rawValue: 5) }
  @inlinable package static var changes: Self { Self(rawValue: 6) }
  @inlinable package static var preimages: Self { Self(rawValue: 7) }
  @inlinable package static var snapshots: Self { Self(rawValue: 8) }
  @inlinable package static var provenance: Self { Self(rawValue: 9) }
  /// Idempotency keys of completed operations.
  @inlinable package static var operations: Self { Self(rawValue: 10) }
  /// Object ids that a migration moved.
  @inlinable package static var redirects: Self { Self(rawValue: 11) }
  /// Removed keys of an incremental backup; absent in stores.
  @inlinable package static var deletions: Self { Self(rawValue: 12) }
  /// Entries of branches; absent in a store that never had a branch.
  @inlinable package static var overlays: Self { Self(rawValue: 13) }
  /// Descriptions of branches; absent in a store that never had a branch.
  @inlinable package static var branches: Self { Self(rawValue: 14) }

  /// The tables that every store has, in the order of their codes.
  package static let fixed: [TableCode] = [
    .metadata, .links, .blobs, .blobInfo, .indexes, .changes, .preimages, .snapshots, .provenance, .operations,
    .redirects,
  ]

  /// The tables that the first branch of a store creates.
  package static let ofBranches: [TableCode] = [.overlays, .branches]

  /// The table of a root entity's objects.
  ///
  /// - Precondition: `rootCode` is in 1…0x7FFF.
  @inlinable
  package static func objects(rootCode: UInt16) -> TableCode {
    precondition(rootCode >= 1 && rootCode <= FormatLimits.maximumRootCode, "a root entity's code is in 1…0x7FFF")
    return TableCode(rawValue: 0x8000 | rootCode)
  }

  /// The root entity's code if this is a table of objects.
  @inlinable
  package var rootCode: UInt16? {
    rawValue > 0x8000 ? rawValue & 0x7FFF : nil
  }

  /// The table's name in the file, or nil for a code that no table has.
  package var name: String? {
    switch rawValue {
    case 1: "metadata"
    case 2: "links"
    case 3: "blobs"
    case 4: "blobinfo"
    case 5: "indexes"
    case 6: "changes"
    case 7: "preimages"
    case 8: "snapshots"
    case 9: "provenance"
    case 10: "operations"
    case 11: "redirects"
    case 12: "deletions"
    case 13: "overlays"
    case 14: "branches"
    default: rootCode.map { "objects-" + hexadecimal($0) }
    }
  }

  /// The code of the table with this name, or nil if this format has no such table.
  package init?(name: String) {
    if let code = (Self.fixed + [.deletions] + Self.ofBranches).first(where: { $0.name == name }) {
      self = code
    } else if name.hasPrefix("objects-"), let root = UInt16(name.dropFirst(8), radix: 16),
      (1...FormatLimits.maximumRootCode).contains(root), name == "objects-" + hexadecimal(root)
    {
      self = .objects(rootCode: root)
    } else {
      return nil
    }
  }
}

/// Four lower-case hexadecimal digits, as in the names of tables and metadata.
func hexadecimal(_ value: UInt16) -> String {
  String(unsafeUninitializedCapacity: 4) { text in
    for place in 0..<4 {
      let digit = UInt8(truncatingIfNeeded: value >> (12 - 4 * place) & 0xF)
      text[place] = digit < 10 ? 48 + digit : 87 + digit
    }
    return 4
  }
}
