/// What a graph is made from; the same recipe makes the same graph for every peer.
package struct GraphRecipe: Codable, Sendable, Hashable {
  package enum Shape: String, Codable {
    /// A library of albums of photos; photos have tags, which a clone shares.
    case photos
    /// Nodes that each point to the next one; the inverse points back.
    case chain
  }

  package var shape = Shape.photos
  /// Albums of the library, or nodes of the chain.
  package var albums = 1
  package var photosPerAlbum = 100
  /// How many times the library has all albums, each time as new objects: a large graph that is made in little time.
  package var copies = 1
  package var tagsPerPhoto = 2
  package var tagCount = 1_000
  /// The length of an image; 0 for no images.
  package var imageBytes = 0
  /// Every so many photos have one.
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

  /// How many objects a clone of the root makes.
  package var objects: Int { shape == .chain ? albums : 1 + copies * albums + photos }

  package var images: Int { imageBytes == 0 ? 0 : (photos + imageEvery - 1) / imageEvery }

  package var totalImageBytes: Int { images * imageBytes }

  /// The name of the object whose clone is the whole graph.
  package var rootName: String { shape == .chain ? "Node/1" : "Library/1" }

  /// A library of about so many small objects, in albums of 100 photos.
  package static func small(_ objects: Int, copies: Int = 1) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects / copies - 1) / 101), copies: copies, seed: UInt64(objects))
  }

  /// So many photos with an image each, in albums of 100.
  package static func images(_ count: Int, of length: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, count / 100), imageBytes: length, seed: UInt64(length))
  }

  /// A chain of so many nodes.
  package static func chain(_ count: Int) -> GraphRecipe { GraphRecipe(shape: .chain, albums: count, tagCount: 0) }

  /// All photos in one album, without tags.
  package static func fan(_ children: Int) -> GraphRecipe {
    GraphRecipe(photosPerAlbum: children, tagsPerPhoto: 0, tagCount: 0)
  }

  /// Photos with ten tags each.
  package static func dense(_ objects: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects - 1) / 101), tagsPerPhoto: 10, seed: 10)
  }

  /// A root, 100 objects below it, and 5 images of 100 kB; what it shares with other documents is two dozen tags.
  package static let document = GraphRecipe(
    albums: 4, photosPerAlbum: 24, tagCount: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)

  /// The same, but with nearly every one of its 192 links to tags to another one: so many lists of others gain members.
  package static let documentWithManyTags = GraphRecipe(
    albums: 4, photosPerAlbum: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)
}
