// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Package usbcam emulates USB cameras for the kernel that it runs on: uvcvideo,
// the driver of real webcams, finds a device on a virtual bus (vhci-hcd) and
// talks USB to this package over a socket (USB/IP). It needs root and the
// modules vhci-hcd and uvcvideo, and is meant for the virtual machine of the
// tests alone.
//
// What is emulated follows the USB Video Class 1.1 ("UVC", USB_Video_Class_1.1)
// and Documentation/usb/usbip_protocol.rst of Linux.
package usbcam
