// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

// Windows of OpenCV, for Go: no exception leaves these functions. They return 0,
// or -1 with the reason in why.

#ifndef CAMVIEW_HIGHGUI_H
#define CAMVIEW_HIGHGUI_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// Connects to the display. Qt ends the process where it cannot.
int camview_display(char *why, size_t room);
int camview_open(const char *name, const char *title, int width, int height, char *why, size_t room);
int camview_title(const char *name, const char *title, char *why, size_t room);
int camview_resize(const char *name, int width, int height, char *why, size_t room);
// mat is a cv::Mat.
int camview_show(const char *name, const void *mat, char *why, size_t room);
// The size of the area for pictures; open is 0 once the window was closed.
int camview_size(const char *name, int *width, int *height, int *open, char *why, size_t room);
// key is -1 for none.
int camview_key(int millis, int *key, char *why, size_t room);
// Encodes a cv::Mat as a picture file of the kind that ext (".png") names; free is
// for data.
int camview_encode(const char *ext, const void *mat, void **data, size_t *bytes, char *why, size_t room);
int camview_close(const char *name, char *why, size_t room);

#ifdef __cplusplus
}
#endif

#endif
