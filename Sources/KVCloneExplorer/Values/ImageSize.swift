/// The dimensions of an image in pixels, read from its header.
///
/// The header comes from a store, so it may have any content: every read is checked, and every loop advances.
struct ImageSize: Sendable, Equatable {
  var width: Int
  var height: Int

  /// The number of leading bytes that contain the header of most images.
  static let sampleLength = 64 << 10
  /// An image with more pixels is not shown without a request: decoding it takes gigabytes.
  static let maximumPixelCount = 50_000_000

  /// - Parameter bytes: the beginning of the image.
  /// - Returns: nil if the header is incomplete, or has no valid dimensions.
  init?(_ bytes: [UInt8], format: ImageFormat) {
    let header = ImageHeader(bytes)
    let size: (width: Int, height: Int)? =
      switch format {
      case .png: Self.png(header)
      case .jpeg: Self.jpeg(header)
      case .gif: Self.pair(header.little16(6), header.little16(8))
      case .webp: Self.webp(header)
      case .bmp: Self.bmp(header)
      case .avif: AVIFHeader.size(header)
      }
    guard let size, size.width > 0, size.height > 0, size.width <= Int32.max, size.height <= Int32.max else {
      return nil
    }
    (width, height) = size
  }

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// Whether a browser may decode the image without a request.
  var isModest: Bool {
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    return !overflow && count <= Self.maximumPixelCount
  }

  /// The size that fits into a square with the proportions of the image; never larger than the image.
  func fitted(into side: Int) -> ImageSize {
    let longest = max(width, height)
    if longest <= side { return self }
    let scale = Double(side) / Double(longest)
    return ImageSize(
      width: max(1, Int((Double(width) * scale).rounded())), height: max(1, Int((Double(height) * scale).rounded())))
  }

  private static func pair(_ width: Int?, _ height: Int?) -> (width: Int, height: Int)? {
    guard let width, let height else { return nil }
    return (width, height)
  }

  private static func png(_ header: ImageHeader) -> (width: Int, height: Int)? {
    header.has("IHDR", at: 12) ? pair(header.big32(16), header.big32(20)) : nil
  }

  private static func bmp(_ header: ImageHeader) -> (width: Int, height: Int)? {
    guard let length = header.little32(14) else { return nil }
    if length <= 16 { return pair(header.little16(18), header.little16(20)) }
    guard let width = header.little32(18), let height = header.little32(22) else { return nil }
    // A negative height is that of an image from top to bottom.
    return (width, Int(Int32(truncatingIfNeeded: height).magnitude))
  }

  private static func webp(_ header: ImageHeader) -> (width: Int, height: Int)? {
    if header.has("VP8X", at: 12) {
      return pair(header.little24(24).map { $0 + 1 }, header.little24(27).map { $0 + 1 })
    }
    if header.has("VP8L", at: 12), header.byte(20) == 0x2F, let bits = header.little32(21) {
      return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
    }
    if header.has("VP8 ", at: 12), header.byte(23) == 0x9D, header.byte(24) == 0x01, header.byte(25) == 0x2A {
      return pair(header.little16(26).map { $0 & 0x3FFF }, header.little16(28).map { $0 & 0x3FFF })
    }
    return nil
  }

  private static func jpeg(_ header: ImageHeader) -> (width: Int, height: Int)? {
    var offset = 2
    var isTurned = false
    while let marker = header.byte(offset + 1), header.byte(offset) == 0xFF {
      if marker == 0xFF {
        offset += 1
        continue
      }
      guard let length = header.big16(offset + 2), length >= 2 else { return nil }
      switch marker {
      // Starts of frames; C4, C8 and CC are other segments.
      case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
        guard let size = pair(header.big16(offset + 7), header.big16(offset + 5)) else { return nil }
        return isTurned ? (size.height, size.width) : size
      case 0xE1: isTurned = isTurned || isTurnedByEXIF(header, at: offset + 4)
      // The image data begins without a frame.
      case 0xDA, 0xD9: return nil
      default: break
      }
      offset += 2 + length
    }
    return nil
  }

  /// Whether the orientation in an EXIF segment exchanges width and height, as browsers show it.
  private static func isTurnedByEXIF(_ header: ImageHeader, at start: Int) -> Bool {
    guard header.has("Exif\0\0", at: start) else { return false }
    let tiff = start + 6
    let isLittle = header.has("II", at: tiff)
    func number16(_ offset: Int) -> Int? { isLittle ? header.little16(offset) : header.big16(offset) }
    guard isLittle || header.has("MM", at: tiff),
      let directory = isLittle ? header.little32(tiff + 4) : header.big32(tiff + 4), directory <= 1 << 16,
      let count = number16(tiff + directory)
    else { return false }
    for entry in 0..<min(count, 64) {
      let place = tiff + directory + 2 + 12 * entry
      guard let tag = number16(place) else { return false }
      if tag == 0x0112 { return number16(place + 8).map { (5...8).contains($0) } ?? false }
    }
    return false
  }
}
