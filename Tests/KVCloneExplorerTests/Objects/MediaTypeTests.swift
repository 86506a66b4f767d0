import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Types and dimensions of images come from bytes that may have any content.
@Suite(.bounded) struct MediaTypeTests {
  static let png: [UInt8] =
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [0, 0, 2, 0x80, 0, 0, 1, 0xE0]
  static let gif: [UInt8] = Array("GIF89a".utf8) + [0x40, 0x01, 0xC8, 0x00, 0, 0, 0]
  static let bmp: [UInt8] =
    Array("BM".utf8) + [0, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0, 30, 0, 0, 0, 0xEC, 0xFF, 0xFF, 0xFF]
  static let jpeg: [UInt8] =
    [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xFF, 0xC2, 0, 11, 8, 0x01, 0x00, 0x02, 0x00, 3, 0, 0]
  static let exif: [UInt8] =
    Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
  static let turnedJPEG: [UInt8] =
    [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif
    + [0xFF, 0xC0, 0, 11, 8, 0x01, 0x00, 0x02, 0x00, 3, 0, 0]

  private static func webp(_ kind: String, _ content: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP\(kind)".utf8) + [0, 0, 0, 0] + content
  }

  static let lossy = webp("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A, 0x20, 0x40, 0x10, 0x00])
  static let lossless = webp("VP8L", [0x2F, 0x3F, 0xC0, 0x07, 0x00])
  static let extended = webp("VP8X", [0, 0, 0, 0, 0xFF, 0x03, 0x00, 0xFF, 0x01, 0x00])

  static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let length = UInt32(content.count + 8)
    return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + Array(type.utf8) + content
  }

  private static func extent(_ width: UInt8, _ height: UInt8) -> [UInt8] {
    box("ispe", [0, 0, 0, 0, 0, 0, width, 0, 0, 0, height, 0])
  }

  static let avif: [UInt8] =
    box("ftyp", Array("avif".utf8) + [0, 0, 0, 0])
    + box("meta", [0, 0, 0, 0] + box("hdlr", [1, 2]) + box("iprp", box("ipco", extent(1, 1) + extent(4, 2))))
  static let turnedAVIF: [UInt8] =
    box("ftyp", Array("avis".utf8) + [0, 0, 0, 0])
    + box("meta", [0, 0, 0, 0] + box("iprp", box("ipco", extent(4, 2) + box("irot", [1]))))

  static let images: [(bytes: [UInt8], format: ImageFormat, size: ImageSize)] = [
    (png, .png, ImageSize(width: 640, height: 480)), (gif, .gif, ImageSize(width: 320, height: 200)),
    (bmp, .bmp, ImageSize(width: 30, height: 20)), (jpeg, .jpeg, ImageSize(width: 512, height: 256)),
    (turnedJPEG, .jpeg, ImageSize(width: 256, height: 512)), (lossy, .webp, ImageSize(width: 32, height: 16)),
    (lossless, .webp, ImageSize(width: 64, height: 32)), (extended, .webp, ImageSize(width: 1024, height: 512)),
    (avif, .avif, ImageSize(width: 1024, height: 512)), (turnedAVIF, .avif, ImageSize(width: 512, height: 1024)),
  ]

  @Test(arguments: images.indices)
  func readsFormatAndSize(index: Int) {
    let image = Self.images[index]
    #expect(MediaType(image.bytes, isWhole: true) == .image(image.format))
    #expect(ImageSize(image.bytes, format: image.format) == image.size)
  }

  @Test("A header that ends early has no size, or the right one", arguments: images.indices)
  func truncated(index: Int) {
    let image = Self.images[index]
    for count in image.bytes.indices {
      let size = ImageSize(Array(image.bytes.prefix(count)), format: image.format)
      #expect(size == nil || size == image.size || image.format == .avif, "\(count) bytes")
    }
  }

  @Test("No bytes trap", arguments: images.indices)
  func hostile(index: Int) {
    let image = Self.images[index]
    for position in image.bytes.indices {
      for value: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
        var bytes = image.bytes
        bytes[position] = value
        for format in ImageFormat.allCases {
          guard let size = ImageSize(bytes, format: format) else { continue }
          #expect(size.width > 0 && size.height > 0)
          let fitted = size.fitted(into: 320)
          #expect((1...320).contains(fitted.width) && (1...320).contains(fitted.height))
        }
        _ = MediaType(bytes, isWhole: false)
      }
    }
    for seed in 0..<200 as Range<UInt64> {
      let noise = Array(ObjectFixture.noise(300, seed: seed).dropFirst(2))
      for format in ImageFormat.allCases {
        _ = ImageSize(Array(image.bytes.prefix(Int(seed % 24))) + noise, format: format)
      }
    }
  }

  @Test("Boxes that contain themselves or claim any length end the search")
  func boxes() {
    let endless = [UInt8](repeating: 0, count: 4000)
    #expect(ImageSize(endless, format: .avif) == nil)
    let huge = Self.box("ftyp", []) + [0xFF, 0xFF, 0xFF, 0xFF] + Array("meta".utf8) + [UInt8](repeating: 8, count: 64)
    #expect(ImageSize(huge, format: .avif) == nil)
    let largest: [UInt8] = [0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]
    let extents = Self.box("ispe", largest) + Self.box("ispe", [0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8))
    let giant = Self.box("meta", [0, 0, 0, 0] + Self.box("iprp", Self.box("ipco", extents)))
    #expect(ImageSize(giant, format: .avif) == ImageSize(width: Int(Int32.max), height: Int(Int32.max)))
    #expect(ImageSize(giant, format: .avif)?.isModest == false)
  }

  @Test(arguments: [
    ("plain text\n", MediaType.text), ("<svg xmlns='x'/>", .svg), ("\u{FEFF} <?xml version='1.0'?><SVG>", .svg),
    ("<html><script>alert(1)</script>", .text), ("a\u{1B}[31m", .other), ("bplist00…", .propertyList), ("", .other),
    ("BM is no bitmap, although it begins like one", .text), ("GIF of text", .text), ("Käse 🧀", .text),
  ])
  func detectsTexts(text: String, type: MediaType) {
    #expect(MediaType(Array(text.utf8), isWhole: true) == type)
  }

  @Test("A sample may end within a character; a whole value may not")
  func cutCharacter() {
    let part = Array("Käse 🧀".utf8.dropLast(2))
    #expect(MediaType(part, isWhole: false) == .text)
    #expect(MediaType(part, isWhole: true) == .other)
    #expect(String(decoding: UTF8Part.whole(part), as: UTF8.self) == "Käse ")
    #expect(MediaType([0xC3, 0x28, 0x41, 0x42, 0x43], isWhole: false) == .other)
  }
}
