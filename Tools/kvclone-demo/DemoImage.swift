import Foundation

/// Pictures that a viewer opens: Windows bitmaps of 256 × 256 pixels and 24 bits, about 197 kB each.
enum DemoImage {
  private static let side = 256
  private static let headerSize = 54

  /// A landscape: a sky that gets lighter downwards, a sun, three ridges, and some noise.
  static func bitmap(_ random: inout SeededGenerator) -> Data {
    let pixelBytes = side * side * 3
    var bytes = header(pixelBytes: pixelBytes)
    let hue = Double.random(in: 0..<1, using: &random)
    let sun = (x: Int.random(in: 40..<216, using: &random), y: Int.random(in: 140..<220, using: &random))
    let ridges = (0..<3).map { index in
      (height: 120.0 - Double(index) * 38, phase: Double.random(in: 0..<6.28, using: &random))
    }
    // Bitmaps are stored from the bottom row up.
    for y in 0..<side {
      for x in 0..<side {
        var red = 90 + 110 * hue
        var green = 120 + 60 * (1 - hue)
        var blue = 170 + 70 * (1 - hue)
        let lightness = 1.25 - Double(y) / 512
        (red, green, blue) = (red * lightness, green * lightness, blue * lightness)
        let (dx, dy) = (x - sun.x, y - sun.y)
        if dx * dx + dy * dy < 300 { (red, green, blue) = (255, 236, 180) }
        for (index, ridge) in ridges.enumerated() {
          let wave = sin(Double(x) / 31 + ridge.phase) * 18 + sin(Double(x) / 11 + ridge.phase * 2) * 6
          if Double(y) < ridge.height + wave {
            let shade = 0.62 - Double(index) * 0.17
            (red, green, blue) = (110 * shade + 40 * hue, 120 * shade, 125 * shade)
          }
        }
        let noise = Double(random.next() & 7)
        for channel in [blue, green, red] { bytes.append(UInt8(min(max(channel + noise, 0), 255))) }
      }
    }
    return Data(bytes)
  }

  private static func header(pixelBytes: Int) -> [UInt8] {
    var bytes = Array("BM".utf8)
    bytes.reserveCapacity(headerSize + pixelBytes)
    func append(_ value: Int, _ count: Int) {
      for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
    append(headerSize + pixelBytes, 4)
    append(0, 4)
    append(headerSize, 4)
    append(40, 4)
    append(side, 4)
    append(side, 4)
    append(1, 2)
    append(24, 2)
    append(0, 4)
    append(pixelBytes, 4)
    for _ in 0..<4 { append(0, 4) }
    return bytes
  }
}
