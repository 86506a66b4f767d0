import BenchmarkSupport
import Foundation

/// A photo of the seeded graph. Ids count from 1 for each entity.
package struct SourcePhoto {
  package var id: Int64
  package var album: Int64
  package var title: String
  /// Seconds since 2001.
  package var taken: Double
  package var rating: Double
  package var width: Int64
  package var uuid: UUID
  package var image: Data?
  package var tags: [Int64]
}

/// Receives a graph, object by object; each object comes after its targets.
package protocol GraphSink {
  mutating func addTag(_ id: Int64, name: String) throws
  mutating func addLibrary(_ id: Int64, name: String) throws
  mutating func addAlbum(_ id: Int64, title: String, library: Int64) throws
  mutating func addPhoto(_ photo: SourcePhoto) throws
  /// Adds a node after the previous one.
  mutating func addNode(_ id: Int64, isLast: Bool) throws
}

extension GraphRecipe {
  /// Passes the graph to a peer's store. The root is the library 1, or the node 1.
  package func pour(into sink: inout some GraphSink) throws {
    guard shape == .photos else {
      for node in 1...Int64(albums) { try sink.addNode(node, isLast: node == Int64(albums)) }
      return
    }
    var random = SeededGenerator(seed: seed)
    for tag in 0..<tagCount { try sink.addTag(Int64(tag + 1), name: "tag \(tag)") }
    try sink.addLibrary(1, name: "Everything")
    var image = Data(count: imageBytes)
    image.withUnsafeMutableBytes { bytes in
      for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
    }
    let start = random
    for copy in 0..<copies {
      random = start
      try pourAlbums(copy, &image, &random, into: &sink)
    }
  }

  private func pourAlbums(
    _ copy: Int, _ image: inout Data, _ random: inout SeededGenerator, into sink: inout some GraphSink
  ) throws {
    let (firstAlbum, firstPhoto) = (copy * albums + 1, copy * albums * photosPerAlbum + 1)
    for album in 0..<albums {
      try sink.addAlbum(Int64(firstAlbum + album), title: "Album \(album)", library: 1)
      for place in 0..<photosPerAlbum {
        let number = album * photosPerAlbum + place
        var photo = SourcePhoto(
          id: Int64(firstPhoto + number), album: Int64(firstAlbum + album), title: "Photo number \(number)",
          taken: Double(number) * 61.5,
          rating: Double(number % 50) / 10, width: Int64(random.next() % 6_000), uuid: random.uuid(),
          tags: tags(&random))
        if imageBytes > 0, number % imageEvery == 0 {
          // Distinct first bytes prevent that a lower layer deduplicates the images.
          withUnsafeBytes(of: random.next()) { image.replaceSubrange(0..<8, with: $0) }
          photo.image = image
        }
        try sink.addPhoto(photo)
      }
    }
  }

  /// Distinct tags in ascending order.
  private func tags(_ random: inout SeededGenerator) -> [Int64] {
    var chosen: [Int64] = []
    while chosen.count < tagsPerPhoto {
      let tag = Int64(random.next() % UInt64(tagCount)) + 1
      if !chosen.contains(tag) { chosen.append(tag) }
    }
    return chosen.sorted()
  }
}
