/// The description of a graph; the same recipe makes the same graph for every peer.
package struct GraphRecipe: Codable, Sendable, Hashable {
  package enum Shape: String, Codable {
    /// A library of albums of photos; photos have tags, which a clone shares.
    case photos
    /// Nodes with a link to the next one, and an inverse to the previous one.
    case chain
  }

  package var shape = Shape.photos
  /// The number of albums of the library, or nodes of the chain.
  package var albums = 1
  package var photosPerAlbum = 100
  /// The number of copies of all albums in the library, as separate objects, which creates a large graph in little
  /// time.
  package var copies = 1
  package var tagsPerPhoto = 2
  package var tagCount = 1_000
  /// The size of an image; 0 for no images.
  package var imageBytes = 0
  /// The interval of photos with an image.
  package var imageEvery = 1
  package var seed: UInt64 = 1

  package init(
    shape: Shape = .photos, albums: Int = 1, photosPerAlbum: Int = 100, copies: Int = 1, tagsPerPhoto: Int = 2,
    tagCount: Int = 1_000, imageBytes: Int = 0, imageEvery: Int = 1, seed: UInt64 = 1
  ) {
    (self.shape, self.albums, self.photosPerAlbum, self.copies) = (shape, albums, photosPerAlbum, copies)
    (self.tagsPerPhoto, self.tagCount) = (tagsPerPhoto, tagCount)
    (self.imageBytes, self.imageEvery, self.seed) = (imageBytes, imageEvery, seed)
  }

  package var photos: Int { shape == .photos ? copies * albums * photosPerAlbum : 0 }

  /// The number of objects in a clone of the root.
  package var objects: Int { shape == .chain ? albums : 1 + copies * albums + photos }

  package var images: Int { imageBytes == 0 ? 0 : (photos + imageEvery - 1) / imageEvery }

  package var totalImageBytes: Int { images * imageBytes }

  /// The name of the root; its clone is the whole graph.
  package var rootName: String { shape == .chain ? "Node/1" : "Library/1" }

  /// A library of about the given number of small objects, in albums of 100 photos.
  package static func small(_ objects: Int, copies: Int = 1) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects / copies - 1) / 101), copies: copies, seed: UInt64(objects))
  }

  /// The given number of photos with an image each, in albums of 100.
  package static func images(_ count: Int, of length: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, count / 100), imageBytes: length, seed: UInt64(length))
  }

  /// A chain of the given number of nodes.
  package static func chain(_ count: Int) -> GraphRecipe { GraphRecipe(shape: .chain, albums: count, tagCount: 0) }

  /// All photos in one album, without tags.
  package static func fan(_ children: Int) -> GraphRecipe {
    GraphRecipe(photosPerAlbum: children, tagsPerPhoto: 0, tagCount: 0)
  }

  /// Photos with ten tags each.
  package static func dense(_ objects: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects - 1) / 101), tagsPerPhoto: 10, seed: 10)
  }

  /// A root, 100 objects below it, and 5 images of 100 kB; two dozen tags are shared with other documents.
  package static let document = GraphRecipe(
    albums: 4, photosPerAlbum: 24, tagCount: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)

  /// The same with nearly as many tags as links: 192 links to 1,000 tags, so that a clone changes almost as many lists.
  package static let documentWithManyTags = GraphRecipe(
    albums: 4, photosPerAlbum: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)
}
