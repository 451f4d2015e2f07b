// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package driver

// Structures of cuda.h; each tag names C's field. Reserved bytes must be 0.

// allocationProp is CUmemAllocationProp.
type allocationProp struct {
	AllocType   int32   `c:"type"`
	HandleTypes int32   `c:"requestedHandleTypes"`
	Location    memLoc  `c:"location"`
	Win32       uintptr `c:"win32HandleMetaData"`
	Compression uint8   `c:"allocFlags.compressionType"`
	RDMA        uint8   `c:"allocFlags.gpuDirectRDMACapable"`
	Usage       uint16  `c:"allocFlags.usage"`
	Reserved    [4]byte `c:"allocFlags.reserved"`
}

// memLoc is CUmemLocation.
type memLoc struct {
	Kind int32 `c:"type"`
	ID   int32 `c:"id"`
}

// accessDesc is CUmemAccessDesc.
type accessDesc struct {
	Location memLoc `c:"location"`
	Flags    int32  `c:"flags"`
}

// memcpy2D is CUDA_MEMCPY2D.
type memcpy2D struct {
	SrcXInBytes   uintptr `c:"srcXInBytes"`
	SrcY          uintptr `c:"srcY"`
	SrcMemoryType int32   `c:"srcMemoryType"`
	SrcHost       uintptr `c:"srcHost"`
	SrcDevice     Ptr     `c:"srcDevice"`
	SrcArray      uintptr `c:"srcArray"`
	SrcPitch      uintptr `c:"srcPitch"`

	DstXInBytes   uintptr `c:"dstXInBytes"`
	DstY          uintptr `c:"dstY"`
	DstMemoryType int32   `c:"dstMemoryType"`
	DstHost       uintptr `c:"dstHost"`
	DstDevice     Ptr     `c:"dstDevice"`
	DstArray      uintptr `c:"dstArray"`
	DstPitch      uintptr `c:"dstPitch"`

	WidthInBytes uintptr `c:"WidthInBytes"`
	Height       uintptr `c:"Height"`
}
