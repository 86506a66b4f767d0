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

  /// An estimate of the store's size during a round, rather too high than too low: records and links, the clone's too,
  /// the images once, and the pages that commits need.
  package var neededBytes: Double {
    Double(objects) * 2 * 500 + Double(images) * (Double(imageBytes) + 8192) + 64e6
  }
}
