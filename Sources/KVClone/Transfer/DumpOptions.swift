public import KVCloneModel

/// What a dump contains.
public struct DumpOptions: Sendable {
  /// Only objects of these entities and their sub-entities; empty means all.
  public var entities: [String] = []
  /// Only what a clone of these objects would copy; empty means all. A link out of that set is then written as
  /// `"@Tag/1"`, so that loading the dump into the same store links to the same objects.
  public var roots: [ObjectID] = []
  /// The rules by which ``roots`` are followed.
  public var cloneOptions = CloneOptions()
  /// Where to write the bytes of blobs, one file each, which objects that share one share again when they are loaded; nil writes them
  /// into the text as base64, for each object by itself. Made (0700) if it does not exist; the directory above it must
  /// exist, and the store's own is refused (`invalidDestination`).
  public var blobsDirectory: String?
  /// What stands before the file's name in the text: the path from the NDJSON file's directory to ``blobsDirectory``.
  public var blobsPath: String = ""
  /// Called about every thousand objects with the number written so far.
  public var progress: (@Sendable (Int) -> Void)?
  /// Called where a file for a blob begins, and with the number of bytes for each piece of it; what it throws ends the dump.
  var onBlobFile: (@Sendable (_ isNew: Bool, _ byteCount: Int) throws -> Void)?

  /// Everything, blobs in the text.
  public init() {}
}

/// What was dumped.
public struct DumpResult: Sendable, Hashable {
  /// Objects written.
  public var objectCount = 0
  /// Objects written by concrete entity; entities without any are absent.
  public var counts: [String: Int] = [:]
}
