/// The options of `kvclone bench`.
package struct BenchSettings {
  package let objects: Int
  package let images: Int
  package let imageBytes: Int
  package let seed: UInt64
  package let rounds: Int

  package init(objects: Int, images: Int, imageBytes: Int, seed: UInt64, rounds: Int) {
    self.objects = objects
    self.images = images
    self.imageBytes = imageBytes
    self.seed = seed
    self.rounds = rounds
  }

  /// About what the store takes while a round runs: records and links, the clone's too, the images once, and what commits
  /// need meanwhile. Rather too much than too little.
  package var neededBytes: Double {
    Double(objects) * 2 * 500 + Double(images) * (Double(imageBytes) + 8192) + 64e6
  }
}
