#if Explorer
  import Foundation

  enum ExploreToken {
    /// Returns 128 random bits in the alphabet of base64url.
    static func random() -> String {
      var generator = SystemRandomNumberGenerator()
      let bytes = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Data(bytes).base64EncodedString()
      return text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
  }
#endif
