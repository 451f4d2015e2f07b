// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package jpeg takes in the JPEG frames of cameras and files: it finds them in a
// stream, says what is wrong with damaged ones, adds the Huffman tables that
// cameras leave out, and decodes into memory of the caller. It also encodes
// pictures. Both are done by libturbojpeg where that is installed, else by Go's
// image/jpeg. It does not read devices or files by itself, and converts colours
// only as far as a codec must.
package jpeg
