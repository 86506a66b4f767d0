public import KVClone
public import KVCloneModel

/// Options of a dump.
public struct DumpOptions: Sendable {
  /// The entities to dump, including their subentities; empty for all.
  public var entities: [String] = []
  /// The roots of the clone set to dump: only the objects that a clone of the roots would copy; empty for all.
  ///
  /// Links to objects outside this set are written as `"@Tag/1"`. Loading the dump into the same store then links to
  /// the same objects.
  public var roots: [ObjectID] = []
  /// The clone options for the traversal from ``roots``.
  public var cloneOptions = CloneOptions()
  /// The directory for blobs, one file for each blob; nil to write blobs as base64 into the text.
  ///
  /// With a directory, objects that share a blob share it again after a load. As base64, each object has its own copy.
  /// The directory is created with mode 0700 if it does not exist. Its parent must exist, and the directory of the
  /// store fails with `invalidDestination`.
  public var blobsDirectory: String?
  /// The prefix of file names in the text: the path from the directory of the NDJSON file to ``blobsDirectory``.
  public var blobsPath: String = ""
  /// Receives the number of written objects, about every thousand objects.
  public var progress: (@Sendable (Int) -> Void)?
  /// Called at the beginning of a file for a blob, and with the number of bytes of each chunk; an error that it throws
  /// ends the dump.
  var onBlobFile: (@Sendable (_ isNew: Bool, _ byteCount: Int) throws -> Void)?

  /// Creates options that dump all objects, with blobs in the text.
  public init() {}
}

/// The result of a dump.
public struct DumpResult: Sendable, Hashable {
  /// The number of written objects.
  public var objectCount = 0
  /// The number of written objects by concrete entity. Entities without objects are absent.
  public var counts: [String: Int] = [:]
}
