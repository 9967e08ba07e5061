#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# Folds every inode, group, cluster and block number of a trace (as text) into the range of another image. The resulting
# trace has valid numbers for that image, but does not belong to it. Lengths stay unchanged, so some ranges reach past
# the ends of groups.
#   fold.pl OF-IMAGE ONTO-IMAGE <TRACE
# If the superblock of ONTO-IMAGE has no usable sizes, prints the trace unchanged.
use strict;
use warnings;

sub fail {
    my ($status, $message) = @_;
    print STDERR "$message\n";
    exit($status);
}

# Reads the sizes from the superblock, which may be invalid.
sub shape {
    my ($path) = @_;
    open(my $image, '<:raw', $path) or fail(1, "fold.pl: $path: $!");
    seek($image, 1024, 0);
    read($image, my $super, 1024) == 1024 or return undef;
    my ($inodes, $blocks, $first, $log_block, $log_cluster, $per_group) =
        (unpack('V12', $super))[0, 1, 5, 6, 7, 8];
    my $bigalloc = unpack('V', substr($super, 100, 4)) & 0x200;
    return undef if $per_group == 0 || $blocks <= $first || $inodes == 0 || $log_cluster > 30;
    my $ratio = $bigalloc && $log_cluster > $log_block ? 1 << ($log_cluster - $log_block) : 1;
    return { inodes => $inodes, blocks => $blocks, first => $first, per_group => $per_group,
             ratio => $ratio, groups => int(($blocks - $first + $per_group - 1) / $per_group) };
}

@ARGV == 2 or fail(2, 'usage: fold.pl OF-IMAGE ONTO-IMAGE <TRACE');
my $of = shape($ARGV[0]) or fail(1, "fold.pl: $ARGV[0]: no shape to fold from");
my $onto = shape($ARGV[1]);

sub inode { return 1 + $_[0] % $onto->{inodes} }

sub group { return $_[0] % $onto->{groups} }

# Folds a group number and a cluster number.
sub place {
    my ($group, $cluster) = (group($_[0]), $_[1]);
    my $blocks = $onto->{blocks} - $onto->{first} - $group * $onto->{per_group};
    $blocks = $onto->{per_group} if $blocks > $onto->{per_group};
    return ($group, $cluster % int(($blocks + $onto->{ratio} - 1) / $onto->{ratio}));
}

# Folds a block number by folding its group and cluster.
sub block {
    my ($block) = @_;
    return $block if $block < $of->{first} || $block >= $of->{blocks};
    my $from = $block - $of->{first};
    my ($group, $cluster) = place(int($from / $of->{per_group}),
                                  int($from % $of->{per_group} / $of->{ratio}));
    return $onto->{first} + $group * $onto->{per_group} + $cluster * $onto->{ratio};
}

while (my $line = <STDIN>) {
    if ($onto) {
        $line =~ s/\b(ino|inode) (\d+)/"$1 " . inode($2)/ge;
        $line =~ s/\bgroup (\d+)/'group ' . group($1)/ge;
        $line =~ s{\b(orig|goal|result|extent) (\d+)/(\d+)/}{"$1 " . join('/', place($2, $3)) . '/'}ge;
        $line =~ s{\b(block|goal|pleft|pright|pstart) (\d+)(?!\d|/)}{"$1 " . block($2)}ge;
    }
    print $line;
}
