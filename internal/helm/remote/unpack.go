// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
)

const (
	// maxUnpacked is the limit for the files of an artifact or a Git repository together, in bytes, as for charts.
	maxUnpacked = 100 << 20
	// entrySize is what each file, folder or link counts in addition to its content, so that there cannot be too many: at
	// least its part of an archive.
	entrySize = 1 << 10
)

// unpacker writes files below a folder, and follows no link out of it.
type unpacker struct {
	root *os.Root
	// left is the number of bytes that may still be written.
	left int64
	// links are the paths of symbolic links, and folders those of folders that were counted.
	links   []string
	folders map[string]bool
	// comment is the commit of an archive that git has written.
	comment string
}

// unpack has files written into a folder. It fails if a symbolic link leads out of the folder.
func unpack(folder string, write func(files *unpacker) error) error {
	if folder == "" {
		return errors.New("it is not a chart")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	files := &unpacker{root: root, left: maxUnpacked, folders: map[string]bool{}}
	err = write(files)
	for _, link := range files.links {
		if _, broken := root.Stat(link); err == nil && broken != nil && !errors.Is(broken, fs.ErrNotExist) {
			err = fmt.Errorf("symbolic link %s must not lead out of what is fetched: %w", link, broken)
		}
	}
	return err
}

// artifact writes the files in the layers of an artifact, one layer after the other.
func (u *unpacker) artifact(ctx context.Context, from content.Fetcher, layers []ocispec.Descriptor) error {
	for _, layer := range layers {
		if layer.Size > maxFetched {
			return fmt.Errorf("layer %s is larger than %d MiB", layer.Digest, maxFetched>>20)
		}
		blob, err := content.FetchAll(ctx, from, layer)
		if err == nil {
			err = u.layer(ctx, layer.Annotations[ocispec.AnnotationTitle], blob)
		}
		if err != nil {
			return fmt.Errorf("layer %s: %w", layer.Digest, err)
		}
	}
	return nil
}

// layer writes the files of a tar archive, which may be compressed, or a single file with the given title. Media types
// do not tell which of them it is, because tools use them differently.
func (u *unpacker) layer(ctx context.Context, title string, blob []byte) error {
	content := bytes.NewReader(blob)
	if bytes.HasPrefix(blob, []byte("\x1f\x8b")) {
		unzipped, err := gzip.NewReader(content)
		if err != nil {
			return err
		}
		return u.tar(ctx, unzipped)
	}
	if title != "" && path.Ext(title) != ".tar" {
		return u.file(title, content)
	}
	return u.tar(ctx, content)
}

// tar writes the files of an archive.
func (u *unpacker) tar(ctx context.Context, from io.Reader) error {
	for archive := tar.NewReader(from); ; {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = cmp.Or(err, ctx.Err(), u.count(entrySize)); err != nil {
			return fmt.Errorf("unpacking: %w", err)
		}
		switch name := path.Clean(entry.Name); entry.Typeflag {
		case tar.TypeXGlobalHeader, tar.TypeDir: // a folder is created with its files
			u.comment = cmp.Or(u.comment, entry.PAXRecords["comment"])
		case tar.TypeReg:
			err = u.file(name, archive)
		case tar.TypeSymlink:
			u.links = append(u.links, name)
			err = cmp.Or(u.makeFolders(name), u.root.Symlink(entry.Linkname, name))
		default:
			err = errors.New("it is neither a file nor a directory nor a symbolic link")
		}
		if err != nil {
			return fmt.Errorf("unpacking %s: %w", entry.Name, err)
		}
	}
}

// file writes a file, and creates the folders above it.
func (u *unpacker) file(name string, from io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(from, u.left+1))
	return cmp.Or(err, u.count(int64(len(content))), u.makeFolders(name), u.root.WriteFile(name, content, 0o600))
}

// makeFolders creates the folders above a file. Each counts like a file.
func (u *unpacker) makeFolders(name string) error {
	const longest = 4096 // bytes, as in Linux
	if len(name) > longest {
		return fmt.Errorf("its name has %d bytes; must be at most %d", len(name), longest)
	}
	for folder := path.Dir(name); strings.Contains(folder, "/") && !u.folders[folder]; folder = path.Dir(folder) {
		if err := u.count(entrySize); err != nil {
			return err
		}
		u.folders[folder] = true
	}
	return u.root.MkdirAll(path.Dir(name), 0o700)
}

// count fails if there is too much.
func (u *unpacker) count(n int64) error {
	if u.left -= n; u.left < 0 {
		return fmt.Errorf("the files together, each with %d KiB in addition to its content, are larger than %d MiB", entrySize>>10, maxUnpacked>>20)
	}
	return nil
}
