// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package y4m

import "github.com/seed-3c7e7623/camd/frame"

// RGB to Y'CbCr by ITU-R BT.601, 8 bits, limited range (Y 16..235, Cb and Cr
// 16..240), in fixed point with 16 bits of fraction. Coefficients: luma weights
// 0.299, 0.587, 0.114 times 219/255; chroma 0.5*(B-Y)/(1-0.114) and
// 0.5*(R-Y)/(1-0.299) times 224/255. Each chroma row sums to zero, so that grey
// stays grey.
const (
	fraction = 16
	half     = 1 << (fraction - 1)

	yR, yG, yB    = 16829, 33038, 6416
	cbR, cbG, cbB = -9714, -19071, 28785
	crR, crG, crB = 28785, -24104, -4681

	yOffset = 16<<fraction + half
	cOffset = 128<<fraction + half
)

// appendRGB writes three full planes. bpp is the bytes of a pixel, r and b
// the places of red and blue in it; green is always in the middle.
func appendRGB(dst, data []byte, g frame.Geometry, bpp, r, b int) []byte {
	n := g.Width * g.Height
	dst, out := grow(dst, 3*n)
	py, pb, pr := out[:n], out[n:2*n], out[2*n:3*n]
	for y := range g.Height {
		row := data[y*g.Step : y*g.Step+g.Width*bpp]
		at := y * g.Width
		rowY, rowB, rowR := py[at:at+g.Width], pb[at:at+g.Width], pr[at:at+g.Width]
		for x := range rowY {
			p := row[x*bpp : x*bpp+3]
			red, green, blue := int32(p[r]), int32(p[1]), int32(p[b])
			rowY[x] = byte((yR*red + yG*green + yB*blue + yOffset) >> fraction)
			rowB[x] = byte((cbR*red + cbG*green + cbB*blue + cOffset) >> fraction)
			rowR[x] = byte((crR*red + crG*green + crB*blue + cOffset) >> fraction)
		}
	}
	return dst
}

// append422 takes packed 4:2:2 apart. y0, u and v are the places of the samples
// in a group of four bytes; the second Y follows two bytes after the first. An
// odd width has a last group of which only the first pixel counts.
func append422(dst, data []byte, g frame.Geometry, y0, u, v int) []byte {
	groups := (g.Width + 1) / 2
	n, c := g.Width*g.Height, groups*g.Height
	dst, out := grow(dst, n+2*c)
	py, pu, pv := out[:n], out[n:n+c], out[n+c:]
	for y := range g.Height {
		row := data[y*g.Step : y*g.Step+groups*4]
		rowY, rowU, rowV := py[y*g.Width:(y+1)*g.Width], pu[y*groups:(y+1)*groups], pv[y*groups:(y+1)*groups]
		for i := range rowU {
			group := row[i*4 : i*4+4]
			rowY[2*i] = group[y0]
			if 2*i+1 < len(rowY) {
				rowY[2*i+1] = group[y0+2]
			}
			rowU[i], rowV[i] = group[u], group[v]
		}
	}
	return dst
}

// appendNV12 takes the plane of pairs apart.
func appendNV12(dst, data []byte, g frame.Geometry) []byte {
	dst = appendPlane(dst, data, g.Plane(0))
	p := g.Plane(1)
	pairs := (g.Width + 1) / 2
	c := pairs * p.Rows
	dst, out := grow(dst, 2*c)
	pu, pv := out[:c], out[c:]
	for y := range p.Rows {
		at := p.Offset + y*p.Step
		row := data[at : at+2*pairs]
		rowU, rowV := pu[y*pairs:(y+1)*pairs], pv[y*pairs:(y+1)*pairs]
		for i := range rowU {
			rowU[i], rowV[i] = row[2*i], row[2*i+1]
		}
	}
	return dst
}
