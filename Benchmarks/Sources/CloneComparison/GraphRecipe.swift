/// What a graph is made from; the same recipe makes the same graph for every peer.
struct GraphRecipe: Codable, Sendable, Hashable {
  enum Shape: String, Codable {
    /// A library of albums of photos; photos have tags, which a clone shares.
    case photos
    /// Nodes that each point to the next one; the inverse points back.
    case chain
  }

  var shape = Shape.photos
  /// Albums of the library, or nodes of the chain.
  var albums = 1
  var photosPerAlbum = 100
  /// How many times the library has all albums, each time as new objects: a large graph that is made in little time.
  var copies = 1
  var tagsPerPhoto = 2
  var tagCount = 1_000
  /// The length of an image; 0 for no images.
  var imageBytes = 0
  /// Every so many photos have one.
  var imageEvery = 1
  var seed: UInt64 = 1

  var photos: Int { shape == .photos ? copies * albums * photosPerAlbum : 0 }

  /// How many objects a clone of the root makes.
  var objects: Int { shape == .chain ? albums : 1 + copies * albums + photos }

  var images: Int { imageBytes == 0 ? 0 : (photos + imageEvery - 1) / imageEvery }

  var totalImageBytes: Int { images * imageBytes }

  /// A library of about so many small objects, in albums of 100 photos.
  static func small(_ objects: Int, copies: Int = 1) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects / copies - 1) / 101), copies: copies, seed: UInt64(objects))
  }

  /// So many photos with an image each, in albums of 100.
  static func images(_ count: Int, of length: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, count / 100), imageBytes: length, seed: UInt64(length))
  }

  /// A chain of so many nodes.
  static func chain(_ count: Int) -> GraphRecipe { GraphRecipe(shape: .chain, albums: count, tagCount: 0) }

  /// All photos in one album, without tags.
  static func fan(_ children: Int) -> GraphRecipe {
    GraphRecipe(photosPerAlbum: children, tagsPerPhoto: 0, tagCount: 0)
  }

  /// Photos with ten tags each.
  static func dense(_ objects: Int) -> GraphRecipe {
    GraphRecipe(albums: max(1, (objects - 1) / 101), tagsPerPhoto: 10, seed: 10)
  }

  /// A root, 100 objects below it, and 5 images of 100 kB; what it shares with other documents is two dozen tags.
  static let document = GraphRecipe(
    albums: 4, photosPerAlbum: 24, tagCount: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)

  /// The same, but with nearly every one of its 192 links to tags to another one: so many lists of others gain members.
  static let documentWithManyTags = GraphRecipe(
    albums: 4, photosPerAlbum: 24, imageBytes: 100_000, imageEvery: 20, seed: 5)
}
