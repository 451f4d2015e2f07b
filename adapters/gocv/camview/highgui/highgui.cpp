// SPDX-FileCopyrightText: The camd authors
// SPDX-License-Identifier: Apache-2.0

#include "highgui.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/highgui.hpp>
#include <opencv2/highgui/highgui_c.h>
#include <opencv2/imgcodecs.hpp>

namespace {

// An exception that reaches Go ends the process without a word.
template <typename F> int guarded(char *why, size_t room, F f) {
	try {
		f();
		return 0;
	} catch (const std::exception &e) {
		std::snprintf(why, room, "%s", e.what());
	} catch (...) {
		std::snprintf(why, room, "unknown exception");
	}
	return -1;
}

} // namespace

extern "C" {

int camview_display(char *why, size_t room) {
	return guarded(why, room, [] { cvInitSystem(0, nullptr); });
}

int camview_open(const char *name, const char *title, int width, int height, char *why, size_t room) {
	return guarded(why, room, [&] {
		// The ratio is kept by who draws: OpenCV would scale what is written over the
		// picture along with it.
		cv::namedWindow(name, cv::WINDOW_NORMAL | cv::WINDOW_FREERATIO | cv::WINDOW_GUI_NORMAL);
		cv::setWindowTitle(name, title);
		cv::resizeWindow(name, width, height);
	});
}

int camview_title(const char *name, const char *title, char *why, size_t room) {
	return guarded(why, room, [&] { cv::setWindowTitle(name, title); });
}

int camview_resize(const char *name, int width, int height, char *why, size_t room) {
	return guarded(why, room, [&] { cv::resizeWindow(name, width, height); });
}

int camview_show(const char *name, const void *mat, char *why, size_t room) {
	return guarded(why, room, [&] { cv::imshow(name, *static_cast<const cv::Mat *>(mat)); });
}

int camview_size(const char *name, int *width, int *height, int *open, char *why, size_t room) {
	return guarded(why, room, [&] {
		*width = *height = 0;
		*open = cv::getWindowProperty(name, cv::WND_PROP_VISIBLE) >= 1;
		if (*open) {
			const cv::Rect r = cv::getWindowImageRect(name);
			*width = r.width;
			*height = r.height;
		}
	});
}

int camview_key(int millis, int *key, char *why, size_t room) {
	return guarded(why, room, [&] {
		// The low 8 bits alone, as waitKey has them, make a Q of the left arrow; above 16
		// bits there are Shift and the like.
		const int code = cv::waitKeyEx(millis);
		*key = code == -1 ? -1 : code & 0xffff;
	});
}

int camview_encode(const char *ext, const void *mat, void **data, size_t *bytes, char *why, size_t room) {
	return guarded(why, room, [&] {
		std::vector<uchar> file;
		if (!cv::imencode(ext, *static_cast<const cv::Mat *>(mat), file) || file.empty())
			throw std::runtime_error("no file was made");
		*data = std::malloc(file.size());
		if (!*data)
			throw std::bad_alloc();
		std::memcpy(*data, file.data(), file.size());
		*bytes = file.size();
	});
}

int camview_close(const char *name, char *why, size_t room) {
	return guarded(why, room, [&] {
		if (cv::getWindowProperty(name, cv::WND_PROP_VISIBLE) >= 1) {
			cv::destroyWindow(name);
			cv::waitKey(1); // the window goes when its events are handled
		}
	});
}

} // extern "C"
