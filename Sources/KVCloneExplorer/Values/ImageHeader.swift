/// The beginning of an image. Reads outside of it are nil.
struct ImageHeader {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var count: Int { bytes.count }

  func byte(_ offset: Int) -> UInt8? { offset >= 0 && offset < bytes.count ? bytes[offset] : nil }

  func has(_ text: String, at offset: Int) -> Bool {
    offset >= 0 && offset < bytes.count && bytes[offset...].starts(with: text.utf8)
  }

  func little16(_ offset: Int) -> Int? { number(offset, 2, isLittle: true) }

  func little24(_ offset: Int) -> Int? { number(offset, 3, isLittle: true) }

  func little32(_ offset: Int) -> Int? { number(offset, 4, isLittle: true) }

  func big16(_ offset: Int) -> Int? { number(offset, 2, isLittle: false) }

  func big32(_ offset: Int) -> Int? { number(offset, 4, isLittle: false) }

  private func number(_ offset: Int, _ count: Int, isLittle: Bool) -> Int? {
    guard offset >= 0, offset <= bytes.count - count else { return nil }
    var value = 0
    for index in 0..<count { value = value << 8 | Int(bytes[offset + (isLittle ? count - 1 - index : index)]) }
    return value
  }
}

/// The dimensions in the boxes of an AVIF file: `meta` contains `iprp`, that contains `ipco`, and that the sizes.
enum AVIFHeader {
  /// More boxes on one level are not searched.
  private static let maximumBoxCount = 256

  static func size(_ header: ImageHeader) -> (width: Int, height: Int)? {
    guard let meta = find("meta", in: 0..<header.count, header), meta.count > 4,
      let properties = find("iprp", in: meta.dropFirst(4), header),
      let container = find("ipco", in: properties, header)
    else { return nil }
    // The largest one is that of the image; others are of its tiles, its thumbnail or its transparency.
    var size: (width: Int, height: Int)?
    var isTurned = false
    forEachBox(in: container, header) { type, content in
      if type == "ispe", let width = header.big32(content.lowerBound + 4),
        let height = header.big32(content.lowerBound + 8), max(width, height) <= Int32.max
      {
        if width * height > (size.map { $0.width * $0.height } ?? 0) { size = (width, height) }
      } else if type == "irot", let angle = header.byte(content.lowerBound) {
        isTurned = angle & 1 == 1
      }
      return true
    }
    return size.map { isTurned ? ($0.height, $0.width) : $0 }
  }

  private static func find(_ wanted: String, in range: Range<Int>, _ header: ImageHeader) -> Range<Int>? {
    var found: Range<Int>?
    forEachBox(in: range, header) { type, content in
      if type == wanted { found = content }
      return found == nil
    }
    return found
  }

  /// Calls `body` with the type and the content of each box, cut at the end of `range`, until it returns false.
  private static func forEachBox(
    in range: Range<Int>, _ header: ImageHeader, _ body: (_ type: String, _ content: Range<Int>) -> Bool
  ) {
    var offset = range.lowerBound
    for _ in 0..<maximumBoxCount {
      guard offset + 8 <= range.upperBound, let length = header.big32(offset) else { return }
      let type = String(decoding: (4..<8).compactMap { header.byte(offset + $0) }, as: UTF8.self)
      // 0 extends to the end. Boxes of 64-bit lengths contain image data, not properties.
      let end = length == 0 ? range.upperBound : min(range.upperBound, offset + length)
      guard length == 0 || length >= 8, end >= offset + 8, body(type, offset + 8..<end) else { return }
      offset = end
    }
  }
}
