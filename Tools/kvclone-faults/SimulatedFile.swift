import Foundation

/// A file of the simulated disk: its durable contents, and the changes since.
final class SimulatedFile {
  /// A change since the last sync, in order.
  private enum Change { case write(Range<Int>, offset: Int), truncate(Int) }

  static let pageSize = 4096
  static let sectorSize = 512

  private var durable: [UInt8] = []
  private var changes: [Change] = []

  func write(_ bytes: Range<Int>, at offset: Int) {
    changes.append(.write(bytes, offset: offset))
  }

  func writeDurably(_ bytes: Range<Int>, at offset: Int, _ journal: Journal) {
    Self.apply(bytes, at: offset, journal, to: &durable)
  }

  func truncate(_ length: Int) {
    changes.append(.truncate(length))
  }

  func sync(_ journal: Journal) {
    for change in changes {
      switch change {
      case .truncate(let length): Self.resize(&durable, length)
      case .write(let bytes, let offset): Self.apply(bytes, at: offset, journal, to: &durable)
      }
    }
    changes = []
  }

  /// Simulates a failed sync: the kernel marks the pages that it could not write as clean. Each has arrived or never
  /// will, and no later sync reports it.
  func loseChanges(_ journal: Journal, _ random: inout SeededGenerator) {
    durable = content(after: PowerLoss(&random), journal, &random)
    changes = []
  }

  /// The contents after a power loss: the durable bytes, and a random part of the changes.
  func content(after loss: PowerLoss, _ journal: Journal, _ random: inout SeededGenerator) -> [UInt8] {
    var image = durable
    for change in changes {
      switch change {
      case .truncate(let length): if loss.keepsSome(&random) { Self.resize(&image, length) }
      case .write(let bytes, var offset):
        var start = bytes.lowerBound
        while start < bytes.upperBound {
          let end = min(start + Self.pageSize - offset % Self.pageSize, bytes.upperBound)
          let isCutOff = loss.losesSizes && offset + (end - start) > durable.count
          if loss.keepsSome(&random), !isCutOff {
            Self.applyPage(start..<end, at: offset, loss, journal, &random, to: &image)
          } else if loss.leavesGarbage, !isCutOff, random.chance(30) {
            Self.spoil(offset..<offset + (end - start), &random, in: &image)
          }
          offset += end - start
          start = end
        }
      }
    }
    return image
  }

  private static func applyPage(
    _ bytes: Range<Int>, at offset: Int, _ loss: PowerLoss, _ journal: Journal, _ random: inout SeededGenerator,
    to image: inout [UInt8]
  ) {
    guard loss.tearsPages, random.chance(25) else { return apply(bytes, at: offset, journal, to: &image) }
    for sector in stride(from: bytes.lowerBound, to: bytes.upperBound, by: sectorSize) where random.chance(50) {
      let part = sector..<min(sector + sectorSize, bytes.upperBound)
      apply(part, at: offset + sector - bytes.lowerBound, journal, to: &image)
    }
  }

  private static func spoil(_ range: Range<Int>, _ random: inout SeededGenerator, in image: inout [UInt8]) {
    if image.count < range.upperBound { resize(&image, range.upperBound) }
    for index in range { image[index] = UInt8(truncatingIfNeeded: random.next()) }
  }

  private static func resize(_ image: inout [UInt8], _ length: Int) {
    if image.count > length { image.removeLast(image.count - length) }
    if image.count < length { image.append(contentsOf: [UInt8](repeating: 0, count: length - image.count)) }
  }

  private static func apply(_ bytes: Range<Int>, at offset: Int, _ journal: Journal, to image: inout [UInt8]) {
    if image.count < offset + bytes.count { resize(&image, offset + bytes.count) }
    journal.data.withUnsafeBytes { source in
      image.withUnsafeMutableBytes { target in
        UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + bytes.count])
          .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[bytes]))
      }
    }
  }
}

/// The treatment of unsynced changes in a power loss.
struct PowerLoss: Sendable {
  /// The percentage of pages and of names that arrived.
  var percentKept = 50
  /// Whether a page may have arrived in part, in sectors of 512 bytes.
  var tearsPages = false
  /// Whether a page that did not arrive may contain garbage.
  var leavesGarbage = false
  /// Whether the new size did not arrive, so that bytes beyond the old size are lost.
  var losesSizes = false
  /// Whether names arrive in the order of their changes.
  var keepsOrderOfNames = false

  init(_ random: inout SeededGenerator) {
    switch random.below(10) {
    case 0, 1: percentKept = 0
    case 2, 3: percentKept = 100
    case 4: percentKept = 95
    case 5: percentKept = 5
    default: percentKept = 50
    }
    tearsPages = random.chance(50)
    leavesGarbage = random.chance(25)
    losesSizes = random.chance(20)
    keepsOrderOfNames = random.chance(50)
  }

  func keepsSome(_ random: inout SeededGenerator) -> Bool { random.chance(percentKept) }
}
