// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package descriptor

import (
	"encoding/xml"
	"slices"
	"strings"
)

// ordinarySections are the elements that are not named: those that are read, those that concern
// several virtual machines or their resource pool, and texts.
var ordinarySections = []string{
	"References", "DiskSection", "NetworkSection", "DeploymentOptionSection", "Strings", "Info", "Name",
	"OperatingSystemSection", "VirtualHardwareSection", "ProductSection", "EulaSection", "AnnotationSection",
	"StartupSection", "ResourceAllocationSection",
}

type section struct {
	XMLName  xml.Name
	Required string `xml:"required,attr"`
}

type content struct {
	Sections []section `xml:",any"`
}

// unreadSections returns the names of the sections of a descriptor that have no effect although
// they are required. A section is required unless it says otherwise (DSP0243, ovf:required). The
// library leaves out the sections that it does not know.
func unreadSections(descriptor []byte) []string {
	var envelope struct {
		content
		System     content `xml:"VirtualSystem"`
		Collection struct {
			content
			System content `xml:"VirtualSystem"`
		} `xml:"VirtualSystemCollection"`
	}
	if err := xml.Unmarshal(descriptor, &envelope); err != nil {
		return nil // The library has read it, and accepts more.
	}
	var names []string
	for _, s := range slices.Concat(envelope.Sections, envelope.System.Sections, envelope.Collection.Sections, envelope.Collection.System.Sections) {
		optional := strings.EqualFold(s.Required, "false") || s.Required == "0"
		if !optional && !slices.Contains(ordinarySections, s.XMLName.Local) {
			names = append(names, s.XMLName.Local)
		}
	}
	return names
}
