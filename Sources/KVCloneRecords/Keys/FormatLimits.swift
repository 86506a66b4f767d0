/// The limits of the file format, each with its reason. Changing one that is marked *format* needs a new format
/// version.
@usableFromInline
package enum FormatLimits {
  /// The newest format that this library reads and writes. *Format.*
  @inlinable package static var formatVersion: UInt32 { 7 }

  /// The oldest format that this library reads, and the format of a store that uses no newer feature. *Format.*
  @inlinable package static var oldestFormatVersion: UInt32 { 3 }

  /// The format of stores with fetch indexes, which every writer has to maintain: its own minimum for readers.
  /// *Format.*
  @inlinable package static var fetchIndexFormatVersion: UInt32 { 4 }

  /// The format of stores with named snapshots: every writer has to save their preimages. Its own minimum for readers.
  /// *Format.*
  @inlinable package static var snapshotFormatVersion: UInt32 { 5 }

  /// The format of migrated stores: they contain records of several layouts, and the model's document says what older
  /// ones mean. Its own minimum for readers. *Format.*
  @inlinable package static var migrationFormatVersion: UInt32 { 6 }

  /// The format of stores with branches: every writer has to keep what they show. Its own minimum for readers.
  /// *Format.*
  @inlinable package static var branchFormatVersion: UInt32 { 7 }

  /// LMDB's page size, which the chunk sizes below are computed for; files with another one are rejected.
  @inlinable package static var pageSize: Int { 4096 }

  /// The size of the header that LMDB puts before a value on overflow pages.
  @inlinable package static var overflowPageHeader: Int { 16 }

  /// The maximum size of a key in bytes. LMDB allows 511; the rest is left for table code and epoch in a preimage's
  /// key.
  @inlinable package static var maximumKeyLength: Int { 480 }

  /// The size of the checksum before every value, in bytes. *Format.*
  @inlinable package static var envelopeLength: Int { 8 }

  /// The maximum number of ids that a to-many list keeps inside its owner's record. Most lists are shorter; a record
  /// stays below a page. *Format*: decoding rejects more.
  @inlinable package static var inlineIDLimit: Int { 16 }

  /// A list that moved to chunks moves back when it has fewer ids than this; far enough below ``inlineIDLimit`` that
  /// adding and removing one member does not move the list each time.
  @inlinable package static var inlineAgainBelow: Int { 8 }

  /// The maximum number of ids in one chunk of a list: 1 KiB, so that three fit a page and rewriting one stays cheap.
  /// *Format.*
  @inlinable package static var chunkCapacity: Int { 128 }

  /// The maximum number of entries in one page of a position directory. *Format.*
  @inlinable package static var directoryCapacity: Int { 128 }

  /// The maximum size of a binary value in the record, in bytes; a longer one becomes a blob, so that scans do not read
  /// it.
  @inlinable package static var inlineBlobLimit: Int { 1024 }

  /// The content size of a blob's chunk in bytes (all but the last one are full): with envelope and LMDB's page header,
  /// 256 whole pages. *Format.*
  @inlinable package static var blobChunkLength: Int { 256 * pageSize - overflowPageHeader - envelopeLength }

  /// The maximum size of an object record, 1 GiB: end offsets have 31 bits, and LMDB counts values in 32. *Format.*
  @inlinable package static var maximumRecordLength: Int { 1 << 30 }

  /// The maximum number of fields in a layout: far above any model, and low enough that the null bitmap and fixed slots
  /// stay small.
  @inlinable package static var maximumFieldCount: Int { 16_384 }

  /// The maximum number of values in one index: each one's share of the key must hold the longest encoded number (25
  /// bytes). *Format.*
  @inlinable package static var maximumIndexValueCount: Int { 16 }

  /// The maximum number of entries in one part of a commit's history, so that no history value grows with the
  /// transaction.
  @inlinable package static var changePartCapacity: Int { 4096 }

  /// The largest root entity code: the table code of an object table is this with the top bit set. *Format.*
  @inlinable package static var maximumRootCode: UInt16 { 0x7FFF }

  /// The largest serial of an object: 48 bits. *Format.*
  @inlinable package static var maximumSerial: UInt64 { (1 << 48) - 1 }
}
