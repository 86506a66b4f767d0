/// The result of an export.
public struct ExportResult: Sendable, Hashable {
  /// The name of the model bundle in the folder, such as `Notes.xcdatamodeld`.
  public let modelBundle: String
  /// The model version of the objects.
  public let modelVersion: String
  /// The `ManagedObjectModel.modelHash` of the version, in hexadecimal digits.
  public let modelHash: String
  /// The number of written objects.
  public let objectCount: Int
  /// The number of written objects by concrete entity. Entities without objects are absent.
  public let counts: [String: Int]
  /// The number of blob files. A blob that several objects share has one file.
  public let blobCount: Int
  /// The size of the blob files in bytes.
  public let blobByteCount: UInt64
  /// The size of all files in bytes.
  public let byteCount: UInt64
  /// The duration, including fsync.
  public let duration: Duration
}
