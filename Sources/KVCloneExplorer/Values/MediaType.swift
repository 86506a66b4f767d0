/// The type of bytes by their content; names and stored types are never trusted.
enum MediaType: Sendable, Equatable {
  case image(ImageFormat)
  /// An image that could contain a script: it is never shown as a document.
  case svg
  /// UTF-8 without control characters other than tabs and line ends.
  case text
  case propertyList
  case other

  /// The number of leading bytes that ``init(_:isWhole:)`` uses.
  static let sampleLength = 4096

  /// - Parameters:
  ///   - sample: the beginning of the bytes.
  ///   - isWhole: whether the sample has all bytes. The end of an incomplete one may split a character.
  init(_ sample: some Collection<UInt8>, isWhole: Bool) {
    let bytes = Array(sample.prefix(Self.sampleLength))
    if let format = ImageFormat(bytes) {
      self = .image(format)
    } else if bytes.starts(with: Array("bplist0".utf8)) {
      self = .propertyList
    } else if Self.isText(bytes, isWhole: isWhole && bytes.count == sample.count) {
      self = Self.isSVG(bytes) ? .svg : .text
    } else {
      self = .other
    }
  }

  /// A name for readers, such as `PNG image`.
  var title: String {
    switch self {
    case .image(let format): "\(format.title) image"
    case .svg: "SVG image"
    case .text: "UTF-8 text"
    case .propertyList: "binary property list"
    case .other: "bytes"
    }
  }

  /// The extension of a file name.
  var fileExtension: String {
    switch self {
    case .image(let format): format.rawValue
    case .svg: "svg"
    case .text: "txt"
    case .propertyList: "plist"
    case .other: "bin"
    }
  }

  private static func isText(_ bytes: [UInt8], isWhole: Bool) -> Bool {
    if bytes.isEmpty || bytes.contains(where: { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D || $0 == 0x7F }) {
      return false
    }
    if isWhole { return String(validating: bytes, as: UTF8.self) != nil }
    // The last character may continue after the sample: at most three of its bytes are in it.
    return (0...3).contains { cut in
      cut < bytes.count && String(validating: bytes.dropLast(cut), as: UTF8.self) != nil
    }
  }

  /// Whether a text is XML with an `svg` element near its start.
  private static func isSVG(_ bytes: [UInt8]) -> Bool {
    var text = bytes[...]
    if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
    text = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    guard text.first == UInt8(ascii: "<") else { return false }
    let pattern = Array("<svg".utf8)
    return text.indices.contains { text[$0...].prefix(4).map { $0 | 0x20 } == pattern.map { $0 | 0x20 } }
  }
}

/// The formats of images that browsers show and that cannot contain a script.
enum ImageFormat: String, Sendable, CaseIterable {
  case png
  case jpeg = "jpg"
  case gif, webp, bmp, avif

  /// Detects a format by its magic bytes; nil for others.
  init?(_ bytes: [UInt8]) {
    func has(_ text: String, at offset: Int) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if bytes.starts(with: [0xFF, 0xD8, 0xFF]) {
      self = .jpeg
    } else if has("GIF87a", at: 0) || has("GIF89a", at: 0) {
      self = .gif
    } else if has("RIFF", at: 0), has("WEBP", at: 8) {
      self = .webp
    } else if has("ftyp", at: 4), has("avif", at: 8) || has("avis", at: 8) {
      self = .avif
    } else if has("BM", at: 0), Self.isBitmap(bytes) {
      self = .bmp
    } else {
      return nil
    }
  }

  /// Two letters identify too little: the reserved bytes must be 0, and the size of the next header a known one.
  private static func isBitmap(_ bytes: [UInt8]) -> Bool {
    guard bytes.count >= 18, bytes[6..<10].allSatisfy({ $0 == 0 }), bytes[15..<18].allSatisfy({ $0 == 0 }) else {
      return false
    }
    return [12, 16, 40, 52, 56, 64, 108, 124].contains(bytes[14])
  }

  var contentType: String { self == .jpeg ? "image/jpeg" : "image/\(rawValue)" }

  var title: String { self == .webp ? "WebP" : self == .jpeg ? "JPEG" : rawValue.uppercased() }
}
