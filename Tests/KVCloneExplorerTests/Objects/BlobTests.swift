import Foundation
import KVClone
import KVCloneOperations
import KVCloneTestSupport
import Testing

@testable import KVCloneExplorer

/// Blobs are streamed in bounded memory, and cannot run as documents.
@Suite(.bounded) struct BlobTests {
  @Test("A blob arrives unchanged, in chunks of at most 1 MiB", arguments: [0, 1, 1024, 1025, 1 << 20, 3_000_000])
  func wholeBlob(count: Int) async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(count)
    let path = try await fixture.path(try await fixture.insert(image: bytes), "/blob/image")
    let answer = try await fixture.get(path)
    #expect(answer.status == 200 && answer.bytes == bytes)
    #expect(answer.header("Content-Length") == "\(count)")
    #expect(answer.header("Content-Type") == "application/octet-stream")
    #expect(answer.header("Content-Disposition") == "attachment; filename=\"Thing-1-image.bin\"")
    #expect(answer.header("Accept-Ranges") == "bytes")
    if case .stream(let stream) = await fixture.respond(path).body {
      for try await chunk in stream { #expect(chunk.count <= 1 << 20 && !chunk.isEmpty) }
    }
  }

  @Test("Ranges, also over the ends of chunks", arguments: [0..<1, 1_048_540..<1_048_560, 2_999_990..<3_000_000])
  func ranges(range: Range<Int>) async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(3_000_000)
    let path = try await fixture.path(try await fixture.insert(image: bytes), "/blob/image")
    let answer = try await fixture.get(path, [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
    #expect(answer.status == 206 && answer.bytes == Array(bytes[range]))
    #expect(answer.header("Content-Range") == "bytes \(range.lowerBound)-\(range.upperBound - 1)/3000000")
    #expect(answer.header("Content-Length") == "\(range.count)")
  }

  @Test func rangesOfValuesInTheRecord() async throws {
    let fixture = try ObjectFixture()
    let path = try await fixture.path(try await fixture.insert(image: Array(0..<100)), "/blob/image")
    #expect(try await fixture.get(path, [("Range", "bytes=-3")]).bytes == [97, 98, 99])
    let beyond = try await fixture.get(path, [("Range", "bytes=100-")])
    #expect(beyond.status == 416 && beyond.header("Content-Range") == "bytes */100")
  }

  @Test("An entity tag validates caches, and ranges of the same bytes only")
  func entityTags() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert(image: ObjectFixture.noise(5000))
    let path = try await fixture.path(id, "/blob/image")
    let tag = try #require(try await fixture.get(path).header("ETag"))
    let known = try await fixture.get(path, [("If-None-Match", "\"other\", W/\(tag)")])
    #expect(known.status == 304 && known.bytes.isEmpty)
    #expect(try await fixture.get(path, [("If-Range", tag), ("Range", "bytes=0-0")]).status == 206)
    try await fixture.store.write { tx in
      try tx.set(id, "image", .binary(Data(ObjectFixture.noise(5000, seed: 2))))
    }
    let changed = try await fixture.get(path, [("If-None-Match", tag), ("If-Range", tag), ("Range", "bytes=0-0")])
    #expect(changed.status == 200 && changed.bytes == ObjectFixture.noise(5000, seed: 2))
    #expect(changed.header("ETag") != tag)
  }

  @Test("A blob of 64 MiB is streamed with one chunk in memory, and holds no transaction between chunks")
  func largeBlob() async throws {
    let fixture = try ObjectFixture()
    let id = try await fixture.insert("Thing", ["title": "Large"])
    let chunk = ObjectFixture.noise(1 << 20)
    try await fixture.store.write { tx in
      try tx.setData(id, "image") { writer in for _ in 0..<64 { try writer.append(chunk.span.bytes) } }
    }
    let response = await fixture.respond(try await fixture.path(id, "/blob/image"))
    #expect(response.headers.contains { $0 == ("Content-Length", "\(64 << 20)") })
    guard case .stream(let stream) = response.body else {
      Issue.record("a large blob is not streamed")
      return
    }
    var offset = 0
    for try await part in stream {
      #expect(part.count <= 1 << 20)
      let start = offset % chunk.count
      let first = min(part.count, chunk.count - start)
      #expect(part.prefix(first) == chunk[start..<start + first])
      #expect(part.dropFirst(first) == chunk.prefix(part.count - first))
      offset += part.count
      if offset < 2 * chunk.count {
        #expect(try fixture.store.activeReaders().isEmpty, "a transaction is open while the client reads")
      }
    }
    #expect(offset == 64 << 20)
  }

  enum Interruption: CaseIterable {
    case deletedObject, otherBlob, valueInRecord, null
  }

  @Test("A value that changes while it is streamed ends the stream with an error", arguments: Interruption.allCases)
  func changedWhileStreaming(interruption: Interruption) async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(4 << 20)
    let id = try await fixture.insert(image: bytes)
    guard case .stream(let stream) = await fixture.respond(try await fixture.path(id, "/blob/image")).body else {
      Issue.record("the blob is not streamed")
      return
    }
    var iterator = stream.makeAsyncIterator()
    let first = try #require(try await iterator.next())
    #expect(first[...] == bytes.prefix(first.count))
    try await fixture.store.write { tx in
      switch interruption {
      case .deletedObject: _ = try tx.delete(id)
      case .otherBlob: try tx.set(id, "image", .binary(Data(ObjectFixture.noise(4 << 20, seed: 9))))
      case .valueInRecord: try tx.set(id, "image", .binary(Data([1, 2, 3])))
      case .null: try tx.set(id, "image", nil)
      }
    }
    do {
      let next = try await iterator.next()
      Issue.record("the stream continued with \(next?.count ?? 0) bytes")
    } catch let error as StoreError {
      #expect(error.kind == (interruption == .deletedObject ? .objectNotFound : .staleObject))
    }
  }

  @Test("A change of another value does not interrupt a stream")
  func otherChange() async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(3 << 20)
    let id = try await fixture.insert(image: bytes)
    guard case .stream(let stream) = await fixture.respond(try await fixture.path(id, "/blob/image")).body else {
      Issue.record("the blob is not streamed")
      return
    }
    var all: [UInt8] = []
    for try await chunk in stream {
      all += chunk
      let count = Int64(all.count % 100)
      try await fixture.store.write { tx in try tx.set(id, "small", .integer(count)) }
    }
    #expect(all == bytes)
  }

  @Test("A snapshot shows the blob that it had")
  func snapshots() async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(2_000_000)
    let id = try await fixture.insert(image: bytes)
    let path = try await fixture.path(id, "/blob/image")
    try await fixture.store.createSnapshot(named: "before")
    try await fixture.store.write { tx in _ = try tx.delete(id) }
    #expect(try await fixture.get(path).status == 404)
    #expect(try await fixture.get(path + "?at=before").bytes == bytes)
    guard case .stream(let stream) = await fixture.respond(path + "?at=before").body else {
      Issue.record("the blob is not streamed")
      return
    }
    var iterator = stream.makeAsyncIterator()
    _ = try await iterator.next()
    try await fixture.store.deleteSnapshot(named: "before")
    do {
      _ = try await iterator.next()
      Issue.record("the stream continued after its snapshot was deleted")
    } catch let error as StoreError {
      #expect(error.kind == .snapshotNotFound)
    }
  }

  @Test("Images have their own type; nothing else is shown as a document", arguments: MediaTypeTests.images.indices)
  func images(index: Int) async throws {
    let image = MediaTypeTests.images[index]
    let fixture = try ObjectFixture()
    let answer = try await fixture.get(
      try await fixture.path(try await fixture.insert(image: image.bytes), "/blob/image"))
    #expect(answer.header("Content-Type") == image.format.contentType)
    #expect(answer.header("Content-Disposition") == nil)
    #expect(answer.header("X-Content-Type-Options") == "nosniff")
  }

  @Test("An SVG is an image in an image element, and text as a document")
  func svg() async throws {
    let fixture = try ObjectFixture()
    let bytes = Array("<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".utf8)
    let path = try await fixture.path(try await fixture.insert(image: bytes), "/blob/image")
    let document = try await fixture.get(path, [("Sec-Fetch-Dest", "document")])
    #expect(document.header("Content-Type") == "text/plain; charset=utf-8")
    #expect(document.header("Content-Security-Policy")?.contains("sandbox") == true)
    #expect(try await fixture.get(path).header("Content-Type") == "text/plain; charset=utf-8")
    let image = try await fixture.get(path, [("Sec-Fetch-Dest", "image")])
    #expect(image.header("Content-Type") == "image/svg+xml")
    #expect(image.header("Content-Security-Policy")?.contains("sandbox") == true)
  }

  @Test(arguments: ["<html><script>alert(1)</script></html>", "%PDF-1.7", "{}"])
  func documentsAreDownloads(text: String) async throws {
    let fixture = try ObjectFixture()
    let answer = try await fixture.get(
      try await fixture.path(try await fixture.insert(image: Array(text.utf8)), "/blob/image"))
    #expect(answer.header("Content-Type") == "application/octet-stream")
    #expect(answer.header("Content-Disposition")?.hasPrefix("attachment; filename=\"Thing-1-image.") == true)
  }

  @Test func missingValues() async throws {
    let fixture = try ObjectFixture()
    let path = try await fixture.path(try await fixture.insert("Thing", ["title": "x"]))
    #expect(try await fixture.get(path + "/blob/image").status == 404)
    #expect(try await fixture.get(path + "/blob/unknown").status == 404)
    #expect(try await fixture.get(path + "/blob/small").status == 400)
    #expect(try await fixture.get("/objects/Thing/99/blob/image").status == 404)
  }
}

/// The object page shows the beginning of bytes by their type.
@Suite(.bounded) struct PreviewTests {
  @Test(
    "An image has its size in the markup, so that the page keeps its layout", arguments: MediaTypeTests.images.indices)
  func imageSizes(index: Int) async throws {
    let image = MediaTypeTests.images[index]
    let fixture = try ObjectFixture()
    let id = try await fixture.insert(image: image.bytes)
    let page = try await fixture.get(try await fixture.path(id))
    let size = image.size.fitted(into: 320)
    #expect(page.text.contains("<img src=\"/objects/Thing/1/blob/image\""))
    #expect(page.text.contains("width=\"\(size.width)\" height=\"\(size.height)\""))
    #expect(page.text.contains("\(image.size.width) × \(image.size.height) pixels"))
    #expect(page.text.contains("\(image.format.title) image"))
  }

  @Test("An image that would take gigabytes to decode is a link")
  func hugeImage() async throws {
    var bytes = MediaTypeTests.png
    bytes.replaceSubrange(16..<24, with: [0, 1, 0, 0, 0, 1, 0, 0])
    let fixture = try ObjectFixture()
    let page = try await fixture.get(try await fixture.path(try await fixture.insert(image: bytes)))
    #expect(page.text.contains("65536 × 65536 pixels") && page.text.contains("Show the image"))
    #expect(!page.text.contains("<img"))
  }

  @Test func textAndBytes() async throws {
    let fixture = try ObjectFixture()
    let text = try await fixture.insert(image: Array("Grüße <b>\n".utf8))
    let textPage = try await fixture.get(try await fixture.path(text))
    #expect(textPage.text.contains("Grüße &lt;b&gt;") && textPage.text.contains("UTF-8 text"))
    let other = try await fixture.insert(image: ObjectFixture.noise(100_000))
    let otherPage = try await fixture.get(try await fixture.path(other))
    #expect(otherPage.text.contains("000000f0") && !otherPage.text.contains("00000100"))
    #expect(otherPage.text.contains("/objects/Thing/2/bytes/image"))
  }

  @Test("Bytes in hex come in parts, with all of them")
  func hexParts() async throws {
    let fixture = try ObjectFixture()
    let bytes = ObjectFixture.noise(10_000)
    let id = try await fixture.insert(image: bytes)
    var next: String? = try await fixture.path(id, "/bytes/image.json")
    var hex = ""
    while let path = next, hex.count < 100_000 {
      let json = try await fixture.get(path).json()
      hex += try #require(json["hex"] as? String)
      next = (json["next"] as? String).map { $0.replacing("/image?", with: "/image.json?") }
    }
    #expect(hex == Hex.text(bytes))
    let page = try await fixture.get(try await fixture.path(id, "/bytes/image?offset=4107"))
    #expect(page.text.contains("00001000") && page.text.contains("rel=\"prev\"") && page.text.contains("rel=\"next\""))
    #expect(try await fixture.get(try await fixture.path(id, "/bytes/image?offset=10000")).status == 200)
    #expect(try await fixture.get(try await fixture.path(id, "/bytes/image?offset=10001")).status == 400)
  }

  @Test("A composite's binary element has pages of its own")
  func elements() async throws {
    let model = ManagedObjectModel("Elements") {
      EntityDescription("Thing") {
        AttributeDescription("place", .composite, elements: [AttributeDescription("photo", .binary)])
      }
    }
    let fixture = try ObjectFixture(model)
    let id = try await fixture.insert("Thing", ["place": .composite(["photo": .binary(Data(MediaTypeTests.gif))])])
    let page = try await fixture.get(try await fixture.path(id))
    #expect(page.text.contains("<img src=\"/objects/Thing/1/blob/place.photo\""))
    #expect(try await fixture.get(try await fixture.path(id, "/blob/place.photo")).bytes == MediaTypeTests.gif)
  }
}
