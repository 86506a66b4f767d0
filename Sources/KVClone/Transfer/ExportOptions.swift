/// How far an export has come.
public struct ExportProgress: Sendable, Hashable {
  /// What it is doing.
  public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable text of the phase, as in JSON.
    public let rawValue: String

    /// Creates a phase from its text. Later versions may add phases, so a `switch` needs a `default`.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable text of the phase.
    public var description: String { rawValue }

    /// Objects are written as text, and large values to files.
    public static let objects = Phase(rawValue: "objects")
    /// The disk is waited for.
    public static let sync = Phase(rawValue: "sync")
  }

  /// What it is doing.
  public var phase: Phase
  /// Objects written so far.
  public var objectCount: Int
  /// Objects there are to write.
  public var totalCount: Int
}

/// What an export made.
public struct ExportResult: Sendable, Hashable {
  /// The name of the model's bundle in the folder: `Notes.xcdatamodeld`.
  public let modelBundle: String
  /// The version of the model whose objects they are.
  public let modelVersion: String
  /// Its `ManagedObjectModel.modelHash`, in hexadecimal digits.
  public let modelHash: String
  /// Objects written.
  public let objectCount: Int
  /// Objects written by concrete entity; entities without any are absent.
  public let counts: [String: Int]
  /// Files with large values; a value that several objects share has one.
  public let blobCount: Int
  /// Bytes of those.
  public let blobByteCount: UInt64
  /// Bytes of all files.
  public let byteCount: UInt64
  /// How long it took, with the wait for the disk.
  public let duration: Duration
}
