// Imports the images of a folder into albums, one transaction per folder. A second run imports only what is new.
//
//   swift run --package-path Examples PhotoImport [FOLDER [STORE]]

import Foundation
import KVClone

/// Returns the images in `folder`, or three sample files if none is given.
func images(in folder: String?) throws -> [URL] {
  guard let folder else { return try sampleFiles() }
  let files = FileManager.default.enumerator(at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil)
  let images = files?.compactMap { $0 as? URL }.filter { ["jpg", "jpeg", "png"].contains($0.pathExtension) }
  return (images ?? []).sorted { $0.path < $1.path }
}

func sampleFiles() throws -> [URL] {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kvclone-photo-import")
  return try ["Coast/sand.jpg", "Coast/surf.jpg", "Hills/moss.jpg"].enumerated().map { index, name in
    let file = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(repeating: UInt8(index), count: 200_000).write(to: file)
    return file
  }
}

/// Imports the files of one album in one transaction, and returns how many were new.
func importAlbum(_ name: String, _ files: [URL], into store: ObjectStore) throws -> Int {
  try store.write { tx in
    let album = try tx.fetchOne(Album.self, where: #Predicate { $0.name == name }) ?? tx.insert(Album(name: name))
    var count = 0
    for file in files {
      let path = file.path
      guard try tx.count(Photo.self, where: #Predicate { $0.path == path }) == 0 else { continue }
      let data = try Data(contentsOf: file)
      try tx.insert(
        Photo(
          image: BinaryValue(data), path: path, size: Int64(data.count), thumbnail: BinaryValue(data.prefix(256)),
          album: album.objectID))
      count += 1
    }
    return count
  }
}

let arguments = Array(CommandLine.arguments.dropFirst())
let store = try ObjectStore.open(at: arguments.count > 1 ? arguments[1] : "photos.kvclone", model: .photos)
let albums = Dictionary(grouping: try images(in: arguments.first)) { $0.deletingLastPathComponent().lastPathComponent }
for (name, files) in albums.sorted(by: { $0.key < $1.key }) {
  print("\(name): \(try importAlbum(name, files, into: store)) new of \(files.count)")
}

let (photos, bytes) = try store.read { tx in
  let photos = try tx.fetch(Photo.self, sortedBy: [SortDescriptor(\.size, order: .reverse)], limit: 3)
  return (photos, try photos.first.flatMap { try tx.data(ObjectID($0.objectID), "image")?.count })
}
for photo in photos {
  print("\(photo.path.split(separator: "/").suffix(2).joined(separator: "/")): \(photo.image.count) bytes")
}
print("read \(bytes ?? 0) bytes of the largest")
store.close()
