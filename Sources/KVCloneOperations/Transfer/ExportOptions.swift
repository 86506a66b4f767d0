/// The progress of an export.
public struct ExportProgress: Sendable, Hashable {
  /// A phase of an export, in the order of execution.
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Writing objects as text, and blobs as files.
    public static let objects = Phase(rawValue: "objects")
    /// Waiting for fsync.
    public static let sync = Phase(rawValue: "sync")
  }

  /// The current phase.
  public var phase: Phase
  /// The number of objects written so far.
  public var objectCount: Int
  /// The total number of objects.
  public var totalCount: Int
}

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
