// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

package v4l2

// Values of linux/videodev2.h.
const (
	capCapture       = 1 << 0
	capCaptureMplane = 1 << 12
	capMetaCapture   = 1 << 23
	capStreaming     = 1 << 26
	capDeviceCaps    = 1 << 31

	bufTypeCapture       = 1
	bufTypeCaptureMplane = 9

	memoryMmap    = 1
	memoryUserptr = 2

	bufFlagError         = 0x40
	bufFlagTimestampMask = 0xe000
	bufFlagMonotonic     = 0x2000
	bufFlagSourceMask    = 0x70000
	bufFlagStartOfExpose = 0x10000

	fieldAny  = 0
	fieldNone = 1

	fmtFlagCompressed = 1 << 0
	fmtFlagEmulated   = 1 << 1

	selectCrop    = 0
	selectCompose = 0x100
	selectDefault = 1 // added to the above

	parmTimePerFrame = 0x1000

	inputCapTimings = 1 << 1

	// privMagic makes drivers fill the fields after Priv.
	privMagic = 0xfeedcafe

	ctrlFlagDisabled  = 0x1
	ctrlFlagGrabbed   = 0x2
	ctrlFlagReadOnly  = 0x4
	ctrlFlagInactive  = 0x10
	ctrlFlagWriteOnly = 0x40
	ctrlNext          = 0x80000000

	ctrlTypeInteger     = 1
	ctrlTypeBoolean     = 2
	ctrlTypeMenu        = 3
	ctrlTypeButton      = 4
	ctrlTypeClass       = 6
	ctrlTypeBitmask     = 8
	ctrlTypeIntegerMenu = 9

	eventSourceChange = 5
)
