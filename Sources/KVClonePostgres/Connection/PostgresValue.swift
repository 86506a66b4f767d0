#if Postgres
  /// A parameter of a statement, in the binary format of the protocol.
  struct PostgresValue {
    /// The object id of the type in PostgreSQL's catalog.
    let type: UInt32
    let bytes: [UInt8]

    static func int8(_ value: Int64) -> Self { Self(type: 20, bytes: bigEndian(value)) }

    static func int4(_ value: Int32) -> Self { Self(type: 23, bytes: bigEndian(value)) }

    static func text(_ value: String) -> Self { Self(type: 25, bytes: Array(value.utf8)) }

    static func bytea(_ value: [UInt8]) -> Self { Self(type: 17, bytes: value) }

    static func bytea(_ value: UnsafeRawBufferPointer) -> Self { Self(type: 17, bytes: Array(value)) }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
      withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
  }

  /// An array parameter while it is filled: the header of the protocol's format, then each element behind its length.
  struct PostgresArray {
    private static let (headerLength, countOffset) = (20, 12)

    private let type: UInt32
    private var bytes: [UInt8] = []
    private(set) var count = 0

    /// The number of bytes of the elements and their lengths.
    var byteCount: Int { bytes.count - Self.headerLength }

    static var ofBytea: Self { Self(type: 1001, elementType: 17) }
    static var ofInt4: Self { Self(type: 1007, elementType: 23) }

    private init(type: UInt32, elementType: UInt32) {
      self.type = type
      bytes.reserveCapacity(Self.headerLength)
      // One dimension, no null, the type of the elements, their number, and the first index.
      for field in [1, 0, elementType, 0, 1] { appendBigEndian(field) }
    }

    mutating func append(_ element: UnsafeRawBufferPointer) {
      appendBigEndian(UInt32(element.count))
      bytes.append(contentsOf: element)
      countElement()
    }

    mutating func append(_ element: Int32) {
      appendBigEndian(4)
      appendBigEndian(UInt32(bitPattern: element))
      countElement()
    }

    /// Keeps the header complete, so that the value is no copy of the bytes.
    private mutating func countElement() {
      count += 1
      let number = UInt32(count).bigEndian
      bytes.withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: Self.countOffset, as: UInt32.self) }
    }

    private mutating func appendBigEndian(_ value: UInt32) {
      withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    var value: PostgresValue { PostgresValue(type: type, bytes: bytes) }
  }
#endif
